#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/json.h"
#include "ingest/tables/table_spec.h"
#include "ingest/tables/task_spec.h"
#include "io/file_system.h"
#include "io/object_store.h"

namespace plimsoll {

/// An object of a store from which tables are read.
struct SourceObject {
  std::string name;
  ObjectVersion version;
};

/// Input and options of ingest_tables(). docs/tables.md explains them.
struct TablesOptions {
  std::vector<TableSpec> tables = {};
  /// The files from which the tables are read, and the objects. The hashes of files and the ETags of objects
  /// are the sources in the provenance. Without either, as for tables of another process, the sources are the
  /// names of the tables.
  std::vector<std::filesystem::path> files = {};
  std::vector<SourceObject> objects = {};
  std::vector<TaskSpec> tasks = {};  ///< Tasks on the tables, whose labels become seeds.
  /// The source's description of the data set, for the manifest.
  Json words = Json::object();
  bool reverse = false;  ///< Also make the reverse edge types.
  std::filesystem::path out = {};
  bool force = false;  ///< Replace an existing output.
  /// The part of the budget that the ledger does not have, for the smallest budget in messages.
  int64_t outside_ledger = 0;
};

/// Counts of what was read or made. If `already_there`, only node_types, edge_types, nodes, edges, tasks and
/// seeds are set.
struct TablesResult {
  /// Whether the output had already been made from these sources, so that nothing was done.
  bool already_there = false;
  int64_t node_types = 0, edge_types = 0;
  int64_t nodes = 0, edges = 0;
  int64_t rows = 0;      ///< Number of rows read, also of tables of labels.
  int64_t dangling = 0;  ///< Number of foreign keys without a target row.
  int64_t tasks = 0, seeds = 0;
  int64_t dangling_seeds = 0;        ///< Number of seeds left out because no row has their key.
  int64_t seeds_without_time = 0;    ///< Number of seeds left out because their time is missing.
  int64_t seeds_without_target = 0;  ///< Number of seeds left out because none of their targets is a row.
  int64_t dangling_targets = 0;      ///< Number of targets dropped because no row has their key.
  int64_t rows_without_time = 0;     ///< Number of rows left out because their time is missing.
  /// Number of rows of event tables that lack a foreign key, and so make no edge.
  int64_t rows_without_ends = 0;
  std::vector<std::string> left_out = {};  ///< Columns that were left out, as "TABLE.COLUMN: reason".
};

/// Called with the number of rows read, on the thread of the caller. The number starts again from 0 if the
/// build is repeated with less memory. It may throw to stop.
using TablesProgress = std::function<void(int64_t rows)>;

/// Reads tables with keys and times into a `graph` with node types, within the free memory of the ledger:
/// keys and edges are sorted in runs on disk, next to the output. The same tables and options give the same
/// bytes, whatever the memory. Errors: InputError (table and column, or row), UsageError (options), Failure
/// (disk), BudgetTooSmall, BudgetExceeded, those of `progress`; the output is then unchanged.
TablesResult ingest_tables(const TablesOptions& options, const TablesProgress& progress,
                           FileSystem& files = FileSystem::disk());

}  // namespace plimsoll

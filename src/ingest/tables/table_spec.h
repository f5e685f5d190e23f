#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/arrow_stream.h"

namespace plimsoll {

/// Columns of one table whose values are keys of another table.
struct ForeignKey {
  std::vector<std::string> columns;
  std::string table;

  /// Returns the name of the edge type, such as "f2p_user_id"; names of several columns are joined by "+".
  std::string edge_name() const;
};

/// One table of the input. It becomes a node type; an event table becomes an edge type.
struct TableSpec {
  std::string name;
  /// Opens the rows as a stream, which the caller releases. Called once for each attempt to build the graph
  /// (smallest_budget.h), and again for each `autocomplete` task whose seeds are the rows of the table. A
  /// stream from a program can be opened only once.
  std::function<void(ArrowArrayStream&)> open;
  /// Hash of the values that are in names of folders (PartitionColumns::hash()); empty: none.
  std::string partitions = {};
  int64_t files = 0;                  ///< Number of the table's files; 0 for a stream from a program.
  std::vector<std::string> key = {};  ///< Columns of the table's key; empty: no key.
  std::string time = {};              ///< Column with the time from which a row is known; empty: no times.
  std::string time_unit = {};         ///< Unit of a time column of integers: s, ms, us or ns.
  std::vector<ForeignKey> foreign_keys = {};
  bool as_edge = false;   ///< Whether it is an event table: each row is an edge from the row that its first
                          ///< foreign key names to the row that its second names.
  std::string edge = {};  ///< Name of that edge type; empty: the name of the table.

  const std::string& edge_name() const { return edge.empty() ? name : edge; }
  /// Meanings that replace the inferred ones, by column: number, category, time:UNIT or skip.
  std::map<std::string, std::string> meanings = {};
};

/// Throws UsageError for specs that cannot become a graph: no tables, two tables or two edge types with the
/// same name, a foreign key to a table that does not exist or has no key or a key of another number of
/// columns, two foreign keys with the same columns, or an event table that has a key or does not have exactly
/// two foreign keys.
void check_specs(const std::vector<TableSpec>& tables);

}  // namespace plimsoll

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/json.h"
#include "ingest/tables/arrow_table.h"
#include "ingest/tables/edge_type.h"
#include "ingest/tables/key_files.h"
#include "ingest/tables/table_columns.h"
#include "ingest/tables/table_spec.h"

namespace plimsoll {

/// Reads the rows of one table, once. Writes its columns, times and keys, and passes its foreign keys to edge
/// types. Not thread-safe. Errors of all members: InputError, UsageError, Failure (disk), BudgetExceeded.
class TablePass {
 public:
  /// Creates the edge type of a foreign key of this table, whose columns are `columns`.
  using MakeEdges = std::function<EdgeType&(const ForeignKey& key, const KeyColumns& columns)>;

  /// The arguments, except `make_edges`, must outlive this object. The constructor sets the index and the
  /// time column of `state`, and run() the rest.
  TablePass(const TableSpec& spec, DataSetWriter& set, const TableScratch& scratch, NodeTypeState& state,
            const MakeEdges& make_edges);

  /// Reads all rows. Call it once. `progress` is called with the number of rows read. Returns the entry of
  /// the node type for the manifest.
  Json run(const std::function<void(int64_t)>& progress);

 private:
  struct Foreign {
    KeyColumns columns;
    EdgeType& edges;
  };

  void open_columns(const MakeEdges& make_edges);
  void read_chunk(int64_t first, int64_t rows);
  void read_keys(int64_t first, int64_t rows, std::span<const uint8_t> kept);
  void read_foreign_keys(int64_t first, int64_t rows, std::span<const uint8_t> kept);
  Json finish();

  const TableSpec& spec_;
  DataSetWriter& set_;
  const TableScratch& scratch_;
  NodeTypeState& state_;
  ArrowTable table_;
  std::optional<KeyColumns> key_;
  std::optional<KeyFiles> key_files_;
  std::vector<Foreign> foreign_;
  std::optional<TableColumns> columns_;
  int64_t read_ = 0;
};

}  // namespace plimsoll

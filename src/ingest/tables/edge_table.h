#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ingest/tables/arrow_table.h"
#include "ingest/tables/edge_type.h"
#include "ingest/tables/key_lookup.h"
#include "ingest/tables/table_columns.h"
#include "ingest/tables/table_spec.h"

namespace plimsoll {

/// Makes an edge type from an event table. Each row is an edge from the row that its first foreign key names
/// to the row that its second names, with the other columns and the time of the row. A row makes no edge if
/// one of the two does not exist. Not thread-safe. Errors of all members: InputError, UsageError, Failure
/// (disk), BudgetExceeded.
class EdgeTable {
 public:
  /// Both node types must have been read. The arguments must outlive this object.
  EdgeTable(const TableSpec& spec, DataSetWriter& set, const TableScratch& scratch,
            const NodeTypeState& source, const NodeTypeState& target);

  /// Reads all rows, once, and writes the edges. `progress` is called with the number of rows read. With
  /// `reverse`, the edges are also written in the other direction, with their times and without columns.
  /// Returns the entries for the manifest.
  Json run(bool reverse, const std::function<void(int64_t)>& progress);
  int64_t edges() const { return edges_; }
  /// Number of rows that have both foreign keys but make no edge.
  int64_t dangling() const { return rows_ - edges_ - missing_; }

 private:
  struct End {
    const NodeTypeState& node_type;
    KeyColumns keys;
    KeyLookup nodes;
  };
  /// How to write the lists of one direction.
  struct Lists {
    std::string source, name, target;
    int64_t nodes = 0;  // Number of nodes of the target.
    bool is_forward = true;
  };

  void add_rows(int64_t first, int64_t rows);
  std::unique_ptr<ExternalSort> sort_edges(const Lists& lists);
  Json write_lists(const Lists& lists, const ExternalSort& edges);
  void reorder(const std::string& column, const ExternalSort& edges);
  void reorder_columns(Json& columns, const ExternalSort& edges);

  const TableSpec& spec_;
  DataSetWriter& set_;
  const TableScratch& scratch_;
  ArrowTable table_;
  std::vector<End> ends_;  // Source and target.
  TableColumns columns_;
  std::unique_ptr<ExternalSort> found_;  // Key: row. Payload: source and target.
  int64_t rows_ = 0, edges_ = 0, missing_ = 0;
};

}  // namespace plimsoll

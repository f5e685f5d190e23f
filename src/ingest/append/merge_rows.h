#pragma once

#include <vector>

#include "ingest/append/inserted_nodes.h"
#include "ingest/graph/graph_scratch.h"
#include "store/graph.h"

namespace plimsoll {

/// The rows of new nodes, and what they change in the rows of a graph.
struct NewRows {
  /// A graph without edges: row i belongs to the i-th new node. Null: new nodes have no rows, so neither
  /// labels nor values to predict are known.
  const GraphView* rows = nullptr;
  /// The class now of each class of the old graph; empty if classes keep their numbers.
  std::vector<int64_t> classes = {};
  /// Whether the splits of `rows` are indices of all nodes, instead of the new ones.
  bool splits_of_all = false;
  /// Whether splits are written in the order of their first nodes, as those of a table are.
  bool splits_by_node = false;
  /// The stored type of x; used only if there are new nodes.
  StoredAs x = {};
};

/// Writes x, y, the values to predict and the splits of an older graph with new nodes. Columns without
/// changes are shared with the older graph (shared_column.h); others are read once and compared with their
/// checksums. If the older graph has x and there are new nodes, added.rows must have x, too. Errors:
/// InputError (a damaged column), Failure (disk), BudgetExceeded, those of scratch.tick().
void merge_rows(const GraphView& base, const InsertedNodes& nodes, const NewRows& added,
                const GraphScratch& scratch, GraphWriter& writer);

}  // namespace plimsoll

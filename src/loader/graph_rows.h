#pragma once

#include <cstdint>

#include "base/error.h"
#include "store/graph_set.h"

namespace plimsoll {

/// The rows of one graph in the columns of a `graph_set`.
struct GraphRows {
  int64_t node = 0;   ///< First row in x.
  int64_t nodes = 0;  ///< Number of rows in x.
  int64_t edge = 0;   ///< First row in edges.
  int64_t edges = 0;
};

/// Returns the rows of graph `graph`, which must be in the set. Errors: InputError for pointers outside the
/// columns.
GraphRows rows_of(const GraphSetView& set, int64_t graph);

/// Returns the error for a graph with pointers outside its columns or edges outside its nodes.
InputError damaged_graph(const GraphSetView& set, int64_t graph);

}  // namespace plimsoll

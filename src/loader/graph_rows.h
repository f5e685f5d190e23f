#pragma once

#include <cstdint>

#include "base/error.h"
#include "store/graph_set.h"

namespace plimsoll {

/// Where one graph lies in the columns of a `graph_set`.
struct GraphRows {
  int64_t node = 0;   ///< its first row in x
  int64_t nodes = 0;  ///< how many
  int64_t edge = 0;   ///< its first row in edges
  int64_t edges = 0;
};

/// The rows of graph `graph`, which is one of the set. Errors: InputError for pointers outside the columns.
GraphRows rows_of(const GraphSetView& set, int64_t graph);

/// What is thrown for a graph that points outside its columns or its nodes.
InputError damaged_graph(const GraphSetView& set, int64_t graph);

}  // namespace plimsoll

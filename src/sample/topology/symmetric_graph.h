#pragma once

#include <cstdint>

#include "memory/vector.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// A graph without directions and self-loops, in memory: each pair of neighbours stands in the rows of both.
struct SymmetricGraph {
  Vector<int32_t, Tag::columns> row_ptr;     ///< [V+1]
  Vector<int32_t, Tag::columns> neighbours;  ///< [M], ascending in a row, each once
  Vector<int32_t, Tag::columns> weights;     ///< [M], how many edges of the topology lead between the two
};

/// What `topology` ties together, in any direction. Takes up to 8 bytes a node, 8 an edge and 8 an entry
/// while it is made, 4 a node and 8 an entry then; reads the lists in order, twice. Errors: UsageError for
/// more than 2^30 nodes or 2^29 edges, whose entries 32 bits may not count; those of the topology;
/// BudgetExceeded.
SymmetricGraph symmetric_graph(const Topology& topology);

}  // namespace plimsoll

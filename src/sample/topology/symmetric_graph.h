#pragma once

#include <cstdint>

#include "memory/vector.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// An undirected graph without self-loops, in memory: each pair of neighbours is in the rows of both.
struct SymmetricGraph {
  Vector<int32_t, Tag::columns> row_ptr;     ///< [V+1].
  Vector<int32_t, Tag::columns> neighbours;  ///< [M], ascending within a row, without duplicates.
  /// [M], number of edges of the topology between the two nodes.
  Vector<int32_t, Tag::columns> weights;
};

/// Makes the undirected graph of `topology`. Meanwhile it needs up to 8 bytes per node, 8 per edge and 8 per
/// entry; afterwards 4 per node and 8 per entry. Reads the lists in order, twice. Errors: UsageError for more
/// than 2^30 nodes or 2^29 edges, because the entries might exceed 32 bits; those of the topology;
/// BudgetExceeded.
SymmetricGraph symmetric_graph(const Topology& topology);

}  // namespace plimsoll

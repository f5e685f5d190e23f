#pragma once

#include <cstdint>
#include <vector>

#include "memory/vector.h"

namespace plimsoll {

/// Sample of a batch of seeds in a graph with types, in the form in which pyg-lib's hetero_neighbor_sample
/// returns it with csc = true. Its memory is reused for the next batch.
struct TypedSample {
  using Column = Vector<int64_t, Tag::blocks>;
  struct Nodes {
    Column node;   ///< [N] Nodes in the order in which they were reached; seeds first.
    Column batch;  ///< [N] Index of the seed whose subgraph contains the node, or that first reached it; 0 in
                   ///< a sample of HgtSampler.
    Column per_hop;  ///< [hops + 1] Number of new nodes; seeds are hop 0.
  };
  struct Edges {
    Column row;      ///< [M] Neighbour of each edge, as a number among the nodes of the source type.
    Column col;      ///< [M] Node for which each edge was sampled, as a number among the nodes of the target
                     ///< type.
    Column edge;     ///< [M] Index of each edge in `indices`.
    Column per_hop;  ///< [hops] Number of edges.
  };
  std::vector<Nodes> nodes;  ///< One entry per node type.
  std::vector<Edges> edges;  ///< One entry per edge type.
};

}  // namespace plimsoll

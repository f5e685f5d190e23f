#pragma once

#include "sample/neighbour/neighbour_sampler.h"

namespace plimsoll {

/// Adds the reverse of each edge, like PyTorch Geometric's to_bidirectional: no two edges have the same ends,
/// and edges are sorted by (col, row). `edge` is the index of the edge that was sampled between these ends
/// or, if there is none, of the sampled edge in the opposite direction; if there are several, the index of
/// the first one sampled. Empties edges_per_hop. Errors: BudgetExceeded.
void make_bidirectional(SampledSubgraph& subgraph);

/// Replaces the edges with all edges of the graph between nodes of the batch except `targets`, node by node
/// in the order of their lists. `table` has the numbers of these nodes. Empties edges_per_hop. Reads all
/// lists completely, some edges at a time. Errors: those of the topology, BudgetExceeded.
void induce(const Topology& topology, const NodeIdMap& table, PredictedEdges& targets,
            SampledSubgraph& subgraph);

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>

#include "sample/block/block.h"
#include "sample/neighbour/bulk_sampler.h"

namespace plimsoll {

/// The shape of a sample as a graph whose first nodes have these labels (-1: none); and, into `prefixes`, of
/// what lies within 0 .. prefixes.size()-1 hops of its seeds, labels aside.
GraphShape shape_of_sample(const SampledBatch& sample, std::span<const int64_t> labels,
                           std::span<GraphShape> prefixes);

/// A sample as BulkSampler leaves it, from one that has each node's edges in the order of nodes, as
/// NeighbourSampler leaves them.
SampledBatch batch_of(const SampledSubgraph& sample);

/// The same prefixes without their shapes, appended to `prefixes`: one for each hop.
template <typename Sample, typename Prefixes>
void append_prefixes(const Sample& sample, Prefixes& prefixes) {
  Prefix within;
  for (size_t hop = 0; hop < sample.edges_per_hop.size(); ++hop) {
    within.nodes += sample.nodes_per_hop[hop];
    within.edges += sample.edges_per_hop[hop];
    prefixes.push_back(within);
  }
}

/// Source and target of each edge, appended to `edges`.
template <typename Edges>
void append_edges(const SampledSubgraph& sample, Edges& edges) {
  for (size_t e = 0; e < sample.row.size(); ++e) {
    edges.push_back(static_cast<int32_t>(sample.row[e]));
    edges.push_back(static_cast<int32_t>(sample.col[e]));
  }
}

}  // namespace plimsoll

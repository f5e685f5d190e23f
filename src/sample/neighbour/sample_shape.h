#pragma once

#include <cstdint>
#include <span>

#include "sample/block/block.h"
#include "sample/neighbour/bulk_sampler.h"

namespace plimsoll {

/// Returns the shape of a sample as a graph whose first nodes have these labels (-1: no label). Writes the
/// shapes of the parts within 0 .. prefixes.size()-1 hops of its seeds, without labels, to `prefixes`.
GraphShape shape_of_sample(const SampledBatch& sample, std::span<const int64_t> labels,
                           std::span<GraphShape> prefixes);

/// Converts a sample to the format of BulkSampler, without edge values. Its edges must be grouped by target,
/// in node order, as NeighbourSampler returns them for a directional subgraph. Errors: BudgetExceeded.
SampledBatch batch_of(const SampledSubgraph& sample);

/// Appends the prefixes within 0 .. hops-1 hops of the seeds to `prefixes`.
template <typename Sample, typename Prefixes>
void append_prefixes(const Sample& sample, Prefixes& prefixes) {
  Prefix within;
  for (size_t hop = 0; hop < sample.edges_per_hop.size(); ++hop) {
    within.nodes += sample.nodes_per_hop[hop];
    within.edges += sample.edges_per_hop[hop];
    prefixes.push_back(within);
  }
}

/// Appends source and target of each edge to `edges`.
template <typename Edges>
void append_edges(const SampledSubgraph& sample, Edges& edges) {
  for (size_t e = 0; e < sample.row.size(); ++e) {
    edges.push_back(static_cast<int32_t>(sample.row[e]));
    edges.push_back(static_cast<int32_t>(sample.col[e]));
  }
}

}  // namespace plimsoll

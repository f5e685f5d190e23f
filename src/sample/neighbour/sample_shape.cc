#include "sample/neighbour/sample_shape.h"

#include <algorithm>

namespace plimsoll {

GraphShape shape_of_sample(const SampledBatch& sample, std::span<const int64_t> labels,
                           std::span<GraphShape> prefixes) {
  GraphShape shape;
  const uint32_t* source = sample.source.data();
  uint32_t target = 0;
  // Each hop expanded the nodes that were new in the previous one.
  for (size_t hop = 0; hop < sample.edges_per_hop.size(); ++hop) {
    shape.nodes += static_cast<int32_t>(sample.nodes_per_hop[hop]);
    for (; target < static_cast<uint32_t>(shape.nodes); ++target) {
      const auto in = static_cast<int32_t>(sample.in[target]);
      const auto loops = static_cast<int32_t>(std::count(source, source + in, target));
      source += in;
      shape.edges += in;
      shape.self_loops += loops;
      shape.max_in = std::max(shape.max_in, in);
      shape.max_in_without_loops = std::max(shape.max_in_without_loops, in - loops);
    }
    if (hop < prefixes.size()) prefixes[hop] = shape;
  }
  shape.nodes = static_cast<int32_t>(sample.nodes());
  for (const int64_t label : labels) {
    shape.labelled_nodes += label >= 0;
    shape.highest_node_label = std::max(shape.highest_node_label, static_cast<int32_t>(label));
  }
  return shape;
}

SampledBatch batch_of(const SampledSubgraph& sample) {
  SampledBatch batch;
  batch.node = sample.node;
  batch.nodes_per_hop.assign(sample.nodes_per_hop.begin(), sample.nodes_per_hop.end());
  batch.edges_per_hop.assign(sample.edges_per_hop.begin(), sample.edges_per_hop.end());
  batch.in.resize(sample.node.size() - static_cast<size_t>(sample.nodes_per_hop.back()), 0);
  for (const int64_t target : sample.col) ++batch.in[static_cast<size_t>(target)];
  batch.source.assign(sample.row.begin(), sample.row.end());
  return batch;
}

}  // namespace plimsoll

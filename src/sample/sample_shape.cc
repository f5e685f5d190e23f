#include "sample/sample_shape.h"

#include <algorithm>

namespace plimsoll {

GraphShape shape_of_sample(const SampledSubgraph& sample, std::span<const int64_t> labels,
                           std::span<GraphShape> prefixes) {
  GraphShape shape;
  size_t edge = 0;
  // Adds the edges into nodes in front of `end`. Those of a node stand together: it was expanded once.
  const auto add_edges = [&](size_t end) {
    while (edge < end) {
      const int64_t target = sample.col[edge];
      int32_t in = 0;
      int32_t loops = 0;
      for (; edge < end && sample.col[edge] == target; ++edge) {
        ++in;
        loops += sample.row[edge] == target;
      }
      shape.edges += in;
      shape.self_loops += loops;
      shape.most_in = std::max(shape.most_in, in);
      shape.most_in_without_loops = std::max(shape.most_in_without_loops, in - loops);
    }
  };
  size_t end = 0;
  for (size_t hop = 0; hop < prefixes.size(); ++hop) {
    end += static_cast<size_t>(sample.edges_per_hop[hop]);
    add_edges(end);
    shape.nodes += static_cast<int32_t>(sample.nodes_per_hop[hop]);
    prefixes[hop] = shape;
  }
  add_edges(sample.row.size());
  shape.nodes = static_cast<int32_t>(sample.node.size());
  for (const int64_t label : labels) {
    shape.labelled_nodes += label >= 0;
    shape.highest_node_label = std::max(shape.highest_node_label, static_cast<int32_t>(label));
  }
  return shape;
}

}  // namespace plimsoll

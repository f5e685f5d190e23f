#include "engine/blocks/trimmed_layers.h"

#include "ops/attention/attention.h"

namespace plimsoll {

std::vector<LayerEdges> TrimmedLayers::edges(const at::Tensor& edge_index, bool drop_loops) const {
  std::vector<LayerEdges> layers;
  for (int64_t hops = layers_ - 1; hops >= 0; --hops) {
    const Prefix& made = within(hops);
    // Layers beyond the number of hops read all edges into all nodes.
    if (hops >= static_cast<int64_t>(prefixes_.size()) && !layers.empty()) {
      layers.push_back(layers.back());
      continue;
    }
    layers.push_back({edge_order(edge_index.narrow(1, 0, made.edges), within(hops + 1).nodes, made.nodes,
                                 /*same_nodes=*/false, drop_loops),
                      made.nodes});
  }
  return layers;
}

}  // namespace plimsoll

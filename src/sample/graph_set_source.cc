#include "sample/graph_set_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {

void GraphSetSource::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  const GraphSpans& all = view_.graphs();
  const auto damaged = [&](int64_t graph) {
    return InputError(
        fmt::format("{}: graph {} points outside its columns; run `plimsoll verify` and make the set again",
                    view_.set().folder().string(), graph));
  };
  block.clear();
  for (const int64_t graph : graphs) {
    const auto g = static_cast<size_t>(graph);
    const int64_t node = all.node_ptr[g];
    const int64_t nodes = all.node_ptr[g + 1] - node;
    const int64_t edge = all.edge_ptr[g];
    const int64_t edges = all.edge_ptr[g + 1] - edge;
    if (node < 0 || nodes < 0 || node + nodes > all.node_ptr.back() || edge < 0 || edges < 0 ||
        edge + edges > all.edge_ptr.back())
      throw damaged(graph);
    const auto pairs = all.edges.subspan(static_cast<size_t>(2 * edge), static_cast<size_t>(2 * edges));
    if (std::any_of(pairs.begin(), pairs.end(), [&](int32_t end) { return end < 0 || end >= nodes; }))
      throw damaged(graph);
    const auto rows = [](std::span<const float> values, int64_t first, int64_t count, int64_t width) {
      return values.subspan(static_cast<size_t>(first * width), static_cast<size_t>(count * width));
    };
    const auto x = rows(all.x, node, nodes, node_features());
    const auto edge_attr = rows(all.edge_attr, edge, edges, edge_features());
    block.graph.push_back(graph);
    block.node_ptr.push_back(block.node_ptr.back() + nodes);
    block.edge_ptr.push_back(block.edge_ptr.back() + edges);
    block.x.insert(block.x.end(), x.begin(), x.end());
    block.edges.insert(block.edges.end(), pairs.begin(), pairs.end());
    block.edge_attr.insert(block.edge_attr.end(), edge_attr.begin(), edge_attr.end());
    block.y.push_back(all.y[g]);
    if (!all.node_y.empty()) {
      const auto node_y = all.node_y.subspan(static_cast<size_t>(node), static_cast<size_t>(nodes));
      block.node_y.insert(block.node_y.end(), node_y.begin(), node_y.end());
    }
  }
}

}  // namespace plimsoll

#include "sample/graph_set_source.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {

namespace {

// Has the system read the pages that these bytes lie in, if they are not in memory.
template <typename T>
void advise(std::span<const T> values) {
  constexpr uintptr_t kPage = 4096;
  const auto first = reinterpret_cast<uintptr_t>(values.data()) / kPage * kPage;
  const auto last = reinterpret_cast<uintptr_t>(values.data() + values.size());
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_WILLNEED);
}

}  // namespace

void GraphSetSource::will_need(std::span<const int64_t> graphs) const {
  const GraphSpans& all = view_.graphs();
  for (const int64_t graph : graphs) {
    const auto g = static_cast<size_t>(graph);
    const auto rows = [&](auto values, std::span<const int64_t> ptr, int64_t width) {
      const int64_t first = ptr[g] * width;
      const int64_t count = (ptr[g + 1] - ptr[g]) * width;
      const bool inside = first >= 0 && count >= 0 && first + count <= static_cast<int64_t>(values.size());
      return inside ? values.subspan(static_cast<size_t>(first), static_cast<size_t>(count))
                    : values.first(0);
    };
    advise(rows(all.x, all.node_ptr, node_features()));
    advise(rows(all.edges, all.edge_ptr, 2));
    advise(rows(all.edge_attr, all.edge_ptr, edge_features()));
  }
}

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

#include "engine/blocks/run_blocks.h"

#include <algorithm>

#include "base/interrupt.h"
#include "engine/blocks/item_kind.h"

namespace plimsoll {

void TermBox::add(const Terms& terms) {
  widen(terms, terms);
  ++count;
}

void TermBox::widen(const Terms& min, const Terms& max) {
  if (highest.empty()) {
    lowest = min;
    highest = max;
    return;
  }
  for (size_t t = 0; t < min.size(); ++t) {
    lowest[t] = std::min(lowest[t], min[t]);
    highest[t] = std::max(highest[t], max[t]);
  }
}

void visit_blocks(std::span<const int64_t> graphs, const GraphShapes& shapes, const BlockLimits& limits,
                  const std::function<void(std::span<const int64_t> block)>& visit) {
  const GraphList begins = cut_blocks(graphs, shapes, limits);
  for (size_t b = 0; b + 1 < begins.size(); ++b) {
    throw_if_interrupted("the run was planned");
    visit(graphs.subspan(static_cast<size_t>(begins[b]), static_cast<size_t>(begins[b + 1] - begins[b])));
  }
}

bool visit_training_blocks(const EpochOrder& order, int64_t epochs, int64_t batch_size,
                           const GraphShapes& shapes, const BlockLimits& limits, int64_t max_graphs,
                           const std::function<void(std::span<const int64_t> block)>& visit) {
  GraphList graphs(order.training.size());
  int64_t seen = 0;
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    if (seen >= max_graphs) return false;
    throw_if_interrupted("the run was planned");
    order.graphs_of(epoch, graphs);
    const std::span<const int64_t> all(graphs);
    for (size_t first = 0; first < all.size(); first += static_cast<size_t>(batch_size))
      visit_blocks(all.subspan(first, std::min(static_cast<size_t>(batch_size), all.size() - first)), shapes,
                   limits, visit);
    seen += static_cast<int64_t>(graphs.size());
  }
  return order.known();
}

Terms corner(std::span<const int64_t> graphs, const BlockShapes& shapes, const BlockLimits& limits,
             const CollateOptions& options, bool closed) {
  const auto count = static_cast<size_t>(
      std::clamp<int64_t>(limits.graphs, 1, std::max<int64_t>(static_cast<int64_t>(graphs.size()), 1)));
  // Returns the maximum of a quantity over `count` graphs: at most `limit`, unless the largest graph alone
  // has more.
  const auto max = [&](auto count_of, int64_t limit) {
    if (graphs.empty()) return int64_t{0};
    const auto of_graph = [&](int64_t g) -> int64_t { return count_of(shapes.graphs[g]); };
    GraphList largest(std::min(count, graphs.size()));
    std::ranges::partial_sort_copy(graphs, largest, std::greater<>(), of_graph, of_graph);
    int64_t sum = 0;
    for (const int64_t g : largest) sum += of_graph(g);
    return std::max(of_graph(largest.front()), std::min(limit, sum));
  };
  Terms highest(kTerms, 0);
  highest[kOne] = 1;
  highest[kGraphs] = static_cast<int64_t>(count);
  highest[kNodes] = max([](const GraphShape& s) { return int64_t{s.nodes}; }, limits.nodes);
  highest[kEdges] = max([](const GraphShape& s) { return int64_t{s.edges}; }, limits.edges);
  highest[kSelfLoops] = max([](const GraphShape& s) { return int64_t{s.self_loops}; }, highest[kEdges]);
  if (const ItemKind& kind = item_kind(options.items); kind.has_term())
    highest[kItems] = max([&](const GraphShape& s) { return kind.count(s); }, kind.max(highest));
  complete_corner(graphs, shapes, options, closed, highest);
  return highest;
}

}  // namespace plimsoll

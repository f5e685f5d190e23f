#include "ingest/graph/split_sizes.h"

#include <algorithm>
#include <limits>

namespace plimsoll {

// The nodes of each split are ascending, so one pass over all splits finds the nodes that are in several.
SplitSizes split_sizes(const GraphView& graph) {
  SplitSizes sizes;
  std::array<size_t, kGraphSplits.size()> at{};
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  for (;;) {
    int64_t node = kEnd;
    const auto next = [&](size_t split) {
      const auto nodes = graph.split(split);
      return at[split] < nodes.size() ? nodes[at[split]] : kEnd;
    };
    for (size_t split = 0; split < at.size(); ++split) node = std::min(node, next(split));
    if (node == kEnd) return sizes;
    int64_t holders = 0;
    for (size_t split = 0; split < at.size(); ++split) {
      if (next(split) != node) continue;
      ++at[split];
      ++sizes.nodes[split];
      ++holders;
    }
    sizes.overlapping += holders > 1 ? 1 : 0;
  }
}

}  // namespace plimsoll

#pragma once

#include <array>
#include <cstdint>

#include "store/graph.h"

namespace plimsoll {

/// Number of nodes in each split of a graph, and of nodes in more than one split.
struct SplitSizes {
  std::array<int64_t, kGraphSplits.size()> nodes{};
  int64_t overlapping = 0;
};

/// Counts the nodes in one pass over the splits, which must ascend.
SplitSizes split_sizes(const GraphView& graph);

}  // namespace plimsoll

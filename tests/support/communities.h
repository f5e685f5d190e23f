#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "support/giant_graph.h"

namespace plimsoll {

/// Makes an undirected graph. Nine of ten edges stay within a community, and node numbers do not reveal the
/// community.
inline GiantGraph communities(int64_t nodes, int64_t count) {
  std::mt19937 random(1);
  std::vector<std::set<int64_t>> lists(static_cast<size_t>(nodes));
  for (int64_t node = 0; node < nodes; ++node)
    for (int i = 0; i < 5; ++i) {
      int64_t other = static_cast<int64_t>(random() % static_cast<uint64_t>(nodes));
      if (random() % 10 != 0) other = other - other % count + node % count;
      lists[static_cast<size_t>(node)].insert(other);
      lists[static_cast<size_t>(other)].insert(node);
    }
  return GiantGraph(lists);
}

/// Returns the number of nodes in the largest of `count` parts.
inline int64_t largest(std::span<const int32_t> parts, int64_t count) {
  std::vector<int64_t> nodes(static_cast<size_t>(count));
  for (const int32_t part : parts) ++nodes.at(static_cast<size_t>(part));
  return *std::max_element(nodes.begin(), nodes.end());
}

}  // namespace plimsoll

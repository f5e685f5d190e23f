#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "sample/topology/topology.h"

namespace plimsoll {

/// A graph in the form of a data set of kind `graph`: lists of neighbours, ascending and without repetition.
struct GiantGraph {
  std::vector<int64_t> indptr{0};
  std::vector<int64_t> indices;
  std::vector<float> weights;

  /// lists[v] are the neighbours of v.
  explicit GiantGraph(const std::vector<std::set<int64_t>>& lists) {
    for (const std::set<int64_t>& list : lists) {
      indices.insert(indices.end(), list.begin(), list.end());
      indptr.push_back(static_cast<int64_t>(indices.size()));
    }
  }
  CsrTopology topology() const { return {indptr, std::span<const int64_t>(indices), weights}; }
  int64_t nodes() const { return static_cast<int64_t>(indptr.size()) - 1; }
  int64_t degree(int64_t v) const {
    return indptr[static_cast<size_t>(v) + 1] - indptr[static_cast<size_t>(v)];
  }
  bool has_edge(int64_t node, int64_t neighbour) const {
    const auto begin = indices.begin() + indptr[static_cast<size_t>(node)];
    return std::binary_search(begin, begin + degree(node), neighbour);
  }
  /// Returns the edge from `neighbour` to `node`, which must exist.
  int64_t edge(int64_t node, int64_t neighbour) const {
    const auto begin = indices.begin() + indptr[static_cast<size_t>(node)];
    return std::lower_bound(begin, begin + degree(node), neighbour) - indices.begin();
  }
  /// Returns the node whose list contains an edge.
  int64_t owner(int64_t edge) const {
    return std::upper_bound(indptr.begin(), indptr.end(), edge) - indptr.begin() - 1;
  }
};

/// Makes degrees from 0 to many: node v draws about nodes / (v + 1) neighbours. Every seventh has none.
inline GiantGraph skewed_graph(int64_t nodes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::set<int64_t>> lists(static_cast<size_t>(nodes));
  for (int64_t v = 0; v < nodes; ++v)
    for (int64_t i = 0; v % 7 != 6 && i < nodes / (v + 1) + 3; ++i)
      lists[static_cast<size_t>(v)].insert(static_cast<int64_t>(random() % static_cast<uint64_t>(nodes)));
  return GiantGraph(lists);
}

/// Makes one node with `leaves` neighbours, which have none.
inline GiantGraph star(int64_t leaves) {
  std::vector<std::set<int64_t>> lists(static_cast<size_t>(leaves) + 1);
  for (int64_t leaf = 1; leaf <= leaves; ++leaf) lists[0].insert(leaf);
  return GiantGraph(lists);
}

}  // namespace plimsoll

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "sample/topology/topology.h"

namespace plimsoll {

// Checks shared by all topologies, so that they report the same errors.

inline bool is_below(int64_t value, int64_t end) {
  return static_cast<uint64_t>(value) < static_cast<uint64_t>(end);
}

inline void require_nodes(std::span<const int64_t> nodes, int64_t count) {
  for (const int64_t node : nodes)
    if (!is_below(node, count))
      throw UsageError(fmt::format("node {} is not in the graph; expected 0 to {}", node, count - 1));
}

inline void require_list(EdgeRange list, int64_t node, int64_t edges) {
  const int64_t end = list.first + list.degree;
  if (list.first < 0 || list.first > end || end > edges)
    throw InputError(
        fmt::format("indptr: found {} and {} at node {}, expected ascending numbers from 0 to {}; `plimsoll "
                    "verify` lists all damage",
                    list.first, end, node, edges));
}

inline void require_neighbours(std::span<const int64_t> neighbours, std::span<const int64_t> edges,
                               int64_t nodes) {
  bool good = true;
  for (const int64_t neighbour : neighbours) good &= is_below(neighbour, nodes);
  if (good) return;
  const auto bad = std::find_if(neighbours.begin(), neighbours.end(),
                                [&](int64_t neighbour) { return !is_below(neighbour, nodes); });
  throw InputError(
      fmt::format("indices: found node {} at edge {}, expected 0 to {}; `plimsoll verify` lists all damage",
                  *bad, edges[static_cast<size_t>(bad - neighbours.begin())], nodes - 1));
}

}  // namespace plimsoll

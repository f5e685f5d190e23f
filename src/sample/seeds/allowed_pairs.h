#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "memory/vector.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// Counts and lists the pairs of nodes that may be drawn as negative edges, one by one: random draws miss
/// them in a graph in which nearly all pairs are edges. Not thread-safe: it keeps scratch memory of 8 bytes a
/// node, twice. The topology has to outlive it.
class AllowedPairs {
 public:
  using IsAllowed = std::function<bool(int64_t node, int64_t neighbour)>;
  struct Pair {
    int64_t node;
    int64_t place;  ///< Index of the neighbour in neighbours(node).
  };

  /// Calls `is_allowed` for each pair; with `avoid_existing` only for pairs that are no edges.
  AllowedPairs(const Topology& topology, bool avoid_existing, IsAllowed is_allowed);

  /// Returns the number of allowed pairs. The first call reads all lists once. Errors: Interrupted; those of
  /// the topology.
  int64_t total();
  /// Returns the pair at `rank`, 0 .. total()-1. Needs total() first.
  Pair at(int64_t rank) const;
  /// Returns the allowed neighbours of a node, ascending; valid until the next call. Fastest if nodes ascend.
  /// Errors: those of the topology.
  std::span<const int64_t> neighbours(int64_t node);

 private:
  const Topology& topology_;
  bool avoid_existing_;
  IsAllowed is_allowed_;
  Vector<int64_t, Tag::blocks> ends_;  // ends_[v]: number of allowed pairs of nodes 0 .. v.
  int64_t listed_ = -1;                // The node of neighbours_.
  Vector<int64_t, Tag::blocks> neighbours_;
  Vector<int64_t, Tag::blocks> edges_;  // A part of a list, and its neighbours.
  Vector<int64_t, Tag::blocks> part_;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "memory/vector.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// Counts and lists, one by one, the pairs of nodes that may be drawn as negative edges. It is used when
/// nearly all pairs are edges, so that random draws rarely find the other pairs. Not thread-safe. Needs
/// up to 16 bytes per node. With `avoid_existing`, lists must ascend (require_ascending_lists()). The
/// topology must outlive this object.
class AllowedPairs {
 public:
  using IsAllowed = std::function<bool(int64_t node, int64_t neighbour)>;
  struct Pair {
    int64_t node;
    int64_t place;  ///< Index of the neighbour in neighbours(node).
  };

  /// Calls `is_allowed` for each pair; with `avoid_existing`, only for pairs that are not edges.
  AllowedPairs(const Topology& topology, bool avoid_existing, IsAllowed is_allowed);

  /// Returns the number of allowed pairs. The first call reads all lists once. Errors: Interrupted; those of
  /// the topology.
  int64_t total();
  /// Returns the pair of rank `rank`, 0 .. total()-1. Call total() first.
  Pair at(int64_t rank) const;
  /// Returns the allowed neighbours of a node, ascending; valid until the next call. Fastest if called for
  /// ascending nodes. Errors: those of the topology.
  std::span<const int64_t> neighbours(int64_t node);

 private:
  const Topology& topology_;
  bool avoid_existing_;
  IsAllowed is_allowed_;
  Vector<int64_t, Tag::blocks> ends_;  // ends_[v]: number of allowed pairs of nodes 0 .. v.
  int64_t listed_ = -1;                // The node of neighbours_.
  Vector<int64_t, Tag::blocks> neighbours_;
  Vector<int64_t, Tag::blocks> edges_;  // Part of a list, followed by its neighbours.
  Vector<int64_t, Tag::blocks> part_;
};

}  // namespace plimsoll

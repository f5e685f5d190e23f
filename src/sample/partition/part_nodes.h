#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"

namespace plimsoll {

/// The nodes of each part of a graph, in ascending order. Immutable, so any number of threads may read it.
class PartNodes {
 public:
  /// `parts` [V] has the part of each node, 0 or more, as stream_partition() or metis_partition() returns it.
  /// A part may be empty. Holds 8 bytes per node and per part. Errors: UsageError if `parts` does not have
  /// `nodes` entries or has negative ones; BudgetExceeded.
  PartNodes(std::span<const int32_t> parts, int64_t nodes);

  /// Returns the highest part plus 1. Parts without nodes above it are not counted.
  int64_t parts() const { return static_cast<int64_t>(part_ptr_.size()) - 1; }
  /// Returns the nodes of a part, 0 .. parts()-1, valid as long as this object.
  std::span<const int64_t> operator[](int64_t part) const {
    const auto p = static_cast<size_t>(part);
    return std::span(nodes_).subspan(static_cast<size_t>(part_ptr_[p]),
                                     static_cast<size_t>(part_ptr_[p + 1] - part_ptr_[p]));
  }

 private:
  Vector<int64_t, Tag::columns> nodes_;     // Nodes, part by part.
  Vector<int64_t, Tag::columns> part_ptr_;  // Offset of each part.
};

}  // namespace plimsoll

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "memory/vector.h"

namespace plimsoll {

inline constexpr int32_t kUseLevels = 8;
/// Returns the level of a row that is used `uses` times in a few hundred batches.
constexpr int32_t use_level(uint8_t uses) {
  return std::min(static_cast<int32_t>(std::bit_width(uses)), kUseLevels - 1);
}

/// The order in which cache slots are evicted: by the level of their row and, within a level, by the time at
/// which they were placed. The least recently placed slot of the lowest level is first. Every operation is
/// O(1). Not thread-safe.
class UseOrder {
 public:
  static constexpr int64_t kSlotBytes = 12;
  /// Makes an empty order for slots 0 .. slots-1. Errors: BudgetExceeded (Tag::cache).
  explicit UseOrder(int64_t slots) : nodes_(static_cast<size_t>(slots)) {}

  /// Moves a slot to the end of the level.
  void place(int32_t slot, int32_t level);
  /// Removes a slot from the order, if the order contains it.
  void remove(int32_t slot);
  /// Returns the slot to evict first. The order must not be empty.
  int32_t first_to_go() const;

 private:
  static constexpr int32_t kNone = -1;
  struct Node {
    int32_t before = kNone;
    int32_t after = kNone;
    int32_t level = kNone;  // kNone if the slot is not in the order.
  };
  struct List {
    int32_t first = kNone;
    int32_t last = kNone;
  };

  Vector<Node, Tag::cache> nodes_;  // [slots]
  std::array<List, kUseLevels> levels_;
};

}  // namespace plimsoll

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "memory/vector.h"

namespace plimsoll {

inline constexpr int32_t kUseLevels = 8;
/// The level of a row that is used in so many of a few hundred batches.
constexpr int32_t use_level(uint8_t uses) {
  return std::min(static_cast<int32_t>(std::bit_width(uses)), kUseLevels - 1);
}

/// The slots of a cache by the level of their row, and those of one level by when they were put there: an
/// order of eviction. The first to go is the least recently placed slot of the lowest level. Every operation
/// is O(1). Not thread-safe.
class UseOrder {
 public:
  static constexpr int64_t kSlotBytes = 12;
  /// `slots` of them, none in the order. Errors: BudgetExceeded (Tag::cache).
  explicit UseOrder(int64_t slots) : nodes_(static_cast<size_t>(slots)) {}

  /// Puts a slot after all others of the level, wherever it was.
  void place(int32_t slot, int32_t level);
  /// Takes a slot out of the order, if it is in it.
  void remove(int32_t slot);
  /// The slot to go first. There has to be one in the order.
  int32_t first_to_go() const;

 private:
  static constexpr int32_t kNone = -1;
  struct Node {
    int32_t before = kNone;
    int32_t after = kNone;
    int32_t level = kNone;  // kNone: not in the order
  };
  struct List {
    int32_t first = kNone;
    int32_t last = kNone;
  };

  Vector<Node, Tag::cache> nodes_;  // [slots]
  std::array<List, kUseLevels> levels_;
};

}  // namespace plimsoll

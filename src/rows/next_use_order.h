#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <limits>

#include "memory/vector.h"

namespace plimsoll {

/// Batches are counted from 0 on; a row that no planned batch wants is next used in kNever.
inline constexpr int32_t kNever = std::numeric_limits<int32_t>::max();
/// Of rows that no planned batch wants, those that are used more often in all go later: kNever - level.
inline constexpr int32_t kUseLevels = 8;
constexpr bool is_never(int32_t batch) {
  return batch > kNever - kUseLevels;
}
/// The level of a row that is used in so many of a few hundred batches.
constexpr int32_t use_level(uint8_t uses) {
  return std::min(static_cast<int32_t>(std::bit_width(uses)), kUseLevels - 1);
}

/// The slots of a cache by the batch that next uses their row, and those of one batch by when they were put
/// there: an order of eviction. The first to go is the slot of the farthest batch (Belady, "A study of
/// replacement algorithms for a virtual-storage computer", 1966), which is the least recently used one of the
/// lowest level where nothing is planned. Every operation is O(1), given that batches come and go in order.
/// Not thread-safe.
class NextUseOrder {
 public:
  static constexpr int64_t kSlotBytes = 12;
  /// `slots` of them, none in the order. Errors: BudgetExceeded (Tag::cache).
  explicit NextUseOrder(int64_t slots);

  /// Puts a slot after all others of the same batch, wherever it was. `batch` is not below that of
  /// forget_before().
  void place(int32_t slot, int32_t batch);
  /// Takes a slot out of the order, if it is in it.
  void remove(int32_t slot);
  /// What place() was last told of the slot.
  int32_t next_use(int32_t slot) const { return nodes_[static_cast<size_t>(slot)].batch; }
  /// The slot to go first. There has to be one in the order.
  int32_t first_to_go();
  /// How many slots are next used in a batch.
  int64_t count(int32_t batch) const;
  /// Batches below this one are over. Slots that it still finds there are next used in kNever, at level 0.
  void forget_before(int32_t batch);

 private:
  static constexpr int32_t kNone = -1;
  static constexpr int32_t kNowhere = -2;  // as the batch of a slot: not in the order
  struct Node {
    int32_t before;
    int32_t after;
    int32_t batch;
  };
  struct List {
    int32_t first = kNone;
    int32_t last = kNone;
    int64_t count = 0;
  };
  List& list_of(int32_t batch);

  Vector<Node, Tag::cache> nodes_;  // [slots]
  std::array<List, kUseLevels> never_;
  std::deque<List> lists_;  // of the batches from first_batch_ on
  int32_t first_batch_ = 0;
};

}  // namespace plimsoll

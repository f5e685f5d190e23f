#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "can/profile/id_slots.h"
#include "store/message_ids.h"

namespace plimsoll {

/// The set of distinct messages among many. Its memory is charged to the ledger, because an attacker may send
/// as many distinct messages as there are IDs. Not thread-safe.
class DistinctKeys {
 public:
  /// Adds a message. Errors: BudgetExceeded.
  void add(MessageKey key) {
    const auto next = static_cast<int32_t>(keys_.size());
    if (slots_.find_or_add(key, next) == next) keys_.push_back(key);
  }
  bool empty() const { return keys_.empty(); }
  /// Returns all messages in ascending order and clears the set.
  MessageKeys take() {
    slots_ = {};
    std::ranges::sort(keys_);
    keys_.shrink_to_fit();
    return std::exchange(keys_, {});
  }

 private:
  MessageKeys keys_;
  IdSlots<Tag::columns> slots_;
};

}  // namespace plimsoll

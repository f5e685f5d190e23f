#pragma once

#include <algorithm>
#include <cstdint>

#include "memory/vector.h"

namespace plimsoll {

/// A small number for each raw CAN ID of a window: 11-bit IDs by table, all others by open addressing. Not
/// thread-safe.
class IdSlots {
 public:
  IdSlots() : standard_(0x800, -1), others_(64) {}

  /// The slot of an ID, or -1.
  int32_t find(uint32_t can_id) const {
    return can_id < standard_.size() ? standard_[can_id] : others_[place(can_id)].slot;
  }

  /// The slot of an ID; `next` becomes its slot if it has none.
  int32_t find_or_add(uint32_t can_id, int32_t next) {
    if (can_id < standard_.size()) {
      if (standard_[can_id] < 0) standard_[can_id] = next;
      return standard_[can_id];
    }
    Entry& entry = others_[place(can_id)];
    if (entry.slot >= 0) return entry.slot;
    entry = {can_id, next};
    if (2 * ++held_ > others_.size()) grow();
    return next;
  }

  /// Forgets all; `ids` are those that were added.
  template <typename Nodes>
  void clear(const Nodes& nodes) {
    for (const auto& node : nodes)
      if (node.can_id < standard_.size()) standard_[node.can_id] = -1;
    if (held_ > 0) std::fill(others_.begin(), others_.end(), Entry{});
    held_ = 0;
  }

 private:
  struct Entry {
    uint32_t can_id = 0;
    int32_t slot = -1;
  };

  size_t place(uint32_t can_id) const {
    size_t at = can_id * uint32_t{2654435769} >> 8;
    for (;; ++at) {
      const Entry& entry = others_[at & (others_.size() - 1)];
      if (entry.slot < 0 || entry.can_id == can_id) return at & (others_.size() - 1);
    }
  }

  void grow() {
    Vector<Entry, Tag::blocks> old(2 * others_.size());
    old.swap(others_);
    for (const Entry& entry : old)
      if (entry.slot >= 0) others_[place(entry.can_id)] = entry;
  }

  Vector<int32_t, Tag::blocks> standard_;
  Vector<Entry, Tag::blocks> others_;  // a power of two, at most half full
  size_t held_ = 0;
};

}  // namespace plimsoll

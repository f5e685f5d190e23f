#pragma once

#include <algorithm>
#include <cstdint>

#include "can/frames/frames.h"
#include "memory/vector.h"

namespace plimsoll {

/// Maps messages to small numbers: 11-bit IDs of the first channel by table, all others by open addressing.
/// Not thread-safe.
template <Tag kTag = Tag::blocks>
class IdSlots {
 public:
  IdSlots() : standard_(0x800, -1), others_(64) {}

  /// The slot of a message; -1 if it has none.
  int32_t find(MessageKey key) const {
    return key < standard_.size() ? standard_[key] : others_[place(key)].slot;
  }

  /// The slot of a message, which becomes `next` if it has none.
  int32_t find_or_add(MessageKey key, int32_t next) {
    if (key < standard_.size()) {
      if (standard_[key] < 0) standard_[key] = next;
      return standard_[key];
    }
    Entry& entry = others_[place(key)];
    if (entry.slot >= 0) return entry.slot;
    entry = {key, next};
    if (2 * ++held_ > others_.size()) grow();
    return next;
  }

  /// Removes all messages. `nodes` hold the keys that were added.
  template <typename Nodes>
  void clear(const Nodes& nodes) {
    for (const auto& node : nodes)
      if (node.key < standard_.size()) standard_[node.key] = -1;
    if (held_ > 0) std::fill(others_.begin(), others_.end(), Entry{});
    held_ = 0;
  }

 private:
  struct Entry {
    MessageKey key = 0;
    int32_t slot = -1;
  };

  size_t place(MessageKey key) const {
    // The upper bits are used because only from bit 32 on the product depends on the channel.
    size_t at = key * uint64_t{0x9E3779B97F4A7C15} >> 32;
    for (;; ++at) {
      const Entry& entry = others_[at & (others_.size() - 1)];
      if (entry.slot < 0 || entry.key == key) return at & (others_.size() - 1);
    }
  }

  void grow() {
    Vector<Entry, kTag> old(2 * others_.size());
    old.swap(others_);
    for (const Entry& entry : old)
      if (entry.slot >= 0) others_[place(entry.key)] = entry;
  }

  Vector<int32_t, kTag> standard_;
  Vector<Entry, kTag> others_;  // Size is a power of two; at most half full.
  size_t held_ = 0;
};

}  // namespace plimsoll

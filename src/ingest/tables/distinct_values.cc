#include "ingest/tables/distinct_values.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr size_t kFirstSlots = 256;

// Returns the slot of a value, or the empty slot where it belongs.
uint64_t& slot_of(Vector<uint64_t, Tag::ingest>& slots, uint64_t value) {
  size_t at = static_cast<size_t>((value * 0x9E3779B97F4A7C15) >> 32) & (slots.size() - 1);
  while (slots[at] != 0 && slots[at] != value) at = (at + 1) & (slots.size() - 1);
  return slots[at];
}

}  // namespace

void DistinctValues::add(uint64_t value) {
  if (too_many_) return;
  if (value == 0) {
    has_zero_ = true;
    return;
  }
  if (static_cast<size_t>(count_) * 2 >= slots_.size()) grow();
  uint64_t& slot = slot_of(slots_, value);
  if (slot == value) return;
  slot = value;
  ++count_;
  if (count_ <= kMax) return;
  too_many_ = true;
  Vector<uint64_t, Tag::ingest>().swap(slots_);
}

void DistinctValues::grow() {
  Vector<uint64_t, Tag::ingest> more(std::max(kFirstSlots, slots_.size() * 2), 0);
  for (const uint64_t value : slots_)
    if (value != 0) slot_of(more, value) = value;
  slots_.swap(more);
}

std::optional<int64_t> DistinctValues::count() const {
  const int64_t all = count_ + (has_zero_ ? 1 : 0);
  if (too_many_ || all > kMax) return std::nullopt;
  return all;
}

}  // namespace plimsoll

#include "memory/packing.h"

#include <algorithm>

namespace plimsoll {
// Occupies [place, place + size) if all of it is free.
bool Packing::occupy(int64_t place, int64_t size) {
  if (place + size > capacity_) return false;
  if (place >= end_) {
    if (place > end_) holes_.push_back({end_, place});
    end_ = place + size;
    return true;
  }
  const auto next = std::upper_bound(holes_.begin(), holes_.end(), place,
                                     [](int64_t at, const Hole& hole) { return at < hole.begin; });
  if (next == holes_.begin()) return false;
  const auto hole = std::prev(next);
  if (place + size > hole->end) return false;
  const int64_t end = hole->end;
  if (hole->begin < place) {
    hole->end = place;
    if (place + size < end) holes_.insert(next, {place + size, end});
  } else if (place + size < end) {
    hole->begin = place + size;
  } else {
    holes_.erase(hole);
  }
  return true;
}

// Reserves holes for give(), which must not allocate because destructors call it. There is at most one hole
// before each piece.
void Packing::make_room_for_holes() {
  const size_t holes = pieces_ + 2;
  if (holes_.capacity() < holes) holes_.reserve(2 * holes);
}

int64_t Packing::take(int64_t bytes) {
  const int64_t size = round_up(bytes);
  make_room_for_holes();
  if (next_ < plan_.size()) {
    const PlannedAllocation& planned = plan_[next_];
    const bool as_planned = !planned.workspace && size <= planned.bytes && (size > 0 || planned.bytes == 0);
    if (as_planned && (size == 0 || occupy(planned.place, size))) {
      ++next_;
      pieces_ += size > 0 ? 1 : 0;
      in_use_ += size;
      high_ = std::max(high_, planned.place + size);
      return planned.place;
    }
  }
  leave_plan();
  if (size == 0) return 0;
  auto best = holes_.end();
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    const int64_t room = hole->end - hole->begin;
    if (room >= size && (best == holes_.end() || room < best->end - best->begin)) best = hole;
  }
  int64_t place = end_;
  if (best != holes_.end()) {
    place = best->begin;
    best->begin += size;
    if (best->begin == best->end) holes_.erase(best);
  } else {
    if (size > capacity_ - end_) return -1;
    end_ += size;
    high_ = std::max(high_, end_);
  }
  ++pieces_;
  in_use_ += size;
  return place;
}

PlannedAllocation Packing::take_workspace() {
  if (next_ >= plan_.size()) return {};
  const PlannedAllocation planned = plan_[next_];
  if (!planned.workspace) {
    leave_plan();
    return {};
  }
  make_room_for_holes();
  if (planned.bytes > 0 && !occupy(planned.place, planned.bytes)) {
    leave_plan();
    return {};
  }
  ++next_;
  pieces_ += planned.bytes > 0 ? 1 : 0;
  in_use_ += planned.bytes;
  high_ = std::max(high_, planned.place + planned.bytes);
  return planned;
}

void Packing::give(int64_t place, int64_t bytes) noexcept {
  const int64_t size = round_up(bytes);
  if (size == 0) return;
  --pieces_;
  in_use_ -= size;
  auto next = std::lower_bound(holes_.begin(), holes_.end(), place,
                               [](const Hole& hole, int64_t at) { return hole.begin < at; });
  const bool joins_before = next != holes_.begin() && std::prev(next)->end == place;
  const bool joins_next = next != holes_.end() && next->begin == place + size;
  if (joins_before && joins_next) {
    std::prev(next)->end = next->end;
    holes_.erase(next);
  } else if (joins_before) {
    std::prev(next)->end = place + size;
  } else if (joins_next) {
    next->begin = place;
  } else {
    holes_.insert(next, {place, place + size});
  }
  if (holes_.back().end == end_) {
    end_ = holes_.back().begin;
    holes_.pop_back();
  }
}

int64_t Packing::missing(int64_t bytes) const {
  return std::max<int64_t>(round_up(bytes) - (capacity_ - end_), 0);
}

}  // namespace plimsoll

#include "memory/packing.h"

#include <algorithm>

namespace plimsoll {
namespace {

int64_t round_up(int64_t bytes) {
  return (bytes + Packing::kAlignment - 1) / Packing::kAlignment * Packing::kAlignment;
}

}  // namespace

int64_t Packing::take(int64_t bytes) {
  const int64_t size = round_up(bytes);
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
  in_use_ += size;
  return place;
}

void Packing::give(int64_t place, int64_t bytes) {
  const int64_t size = round_up(bytes);
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

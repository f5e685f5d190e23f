#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll {

/// Where one piece of a piece of work goes, as planned (memory/layout.h).
struct PlannedPiece {
  int64_t place = 0;
  int64_t bytes = 0;
  bool workspace = false;  ///< a stretch for many short-lived pieces
};

/// Places pieces in a stretch of bytes 0 .. capacity. Pieces that come as planned get their planned places;
/// from the first that does not, each goes to the smallest hole that it fits, else after all others. The
/// same takes and gives get the same places in any stretch that is long enough, so what one run of a piece of
/// work needs, every run of it needs. Not thread-safe.
class Packing {
 public:
  static constexpr int64_t kAlignment = 64;
  static constexpr int64_t round_up(int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// `plan`: the pieces in the order in which they will be taken; must outlive all takes.
  explicit Packing(int64_t capacity, std::span<const PlannedPiece> plan = {})
      : capacity_(capacity), plan_(plan), planned_(!plan.empty()) {}

  /// Where `bytes` go, a multiple of kAlignment; -1 where there is no room. No bytes need no place, but are a
  /// step of the plan.
  int64_t take(int64_t bytes);
  /// The planned stretch for short-lived pieces, if that is what comes next and it is free; else no bytes.
  PlannedPiece take_workspace();
  /// Returns a piece with the bytes it was taken with. Allocates nothing.
  void give(int64_t place, int64_t bytes) noexcept;
  /// What follows is not as planned.
  void leave_plan() { plan_ = {}; }

  int64_t capacity() const { return capacity_; }
  int64_t in_use() const { return in_use_; }  ///< bytes, rounded up to kAlignment
  int64_t high() const { return high_; }      ///< the end of the last piece there ever was
  /// Whether there was a plan that did not hold.
  bool left_plan() const { return planned_ && plan_.empty(); }

  /// By how much capacity() is too small for `bytes` after all others; 0 where it is not.
  int64_t missing(int64_t bytes) const;
  void grow(int64_t capacity) { capacity_ = capacity; }

 private:
  struct Hole {
    int64_t begin;
    int64_t end;
  };
  bool occupy(int64_t place, int64_t size);
  void make_room_for_holes();

  int64_t capacity_;
  std::span<const PlannedPiece> plan_;
  bool planned_;
  size_t next_ = 0;    // of the plan
  size_t pieces_ = 0;  // taken and not given, but for those of no bytes
  int64_t in_use_ = 0;
  int64_t end_ = 0;  // of the last piece; what is after is free and no hole
  int64_t high_ = 0;
  std::vector<Hole> holes_;  // ascending, never touching each other or end_
};

}  // namespace plimsoll

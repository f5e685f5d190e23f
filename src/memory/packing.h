#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll {

/// Planned place of one piece of memory (memory/layout.h).
struct PlannedAllocation {
  int64_t place = 0;
  int64_t bytes = 0;
  bool workspace = false;  ///< Whether it is a stretch for many short-lived pieces.
};

/// Places pieces in a stretch of bytes 0 .. capacity. As long as the pieces follow the plan, they get their
/// planned places. From the first deviation on, each piece goes into the smallest hole that is large enough,
/// or after all other pieces. The same sequence of take() and give() gets the same places in any stretch that
/// is long enough, so every run of the same work needs the same bytes. Not thread-safe.
class Packing {
 public:
  static constexpr int64_t kAlignment = 64;
  static constexpr int64_t round_up(int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// `plan` has the pieces in the order in which they will be taken. It must stay valid as long as take() is
  /// called.
  explicit Packing(int64_t capacity, std::span<const PlannedAllocation> plan = {})
      : capacity_(capacity), plan_(plan), planned_(!plan.empty()) {}

  /// Returns a place for `bytes`, rounded up to kAlignment, or -1 if they do not fit. Places are multiples of
  /// kAlignment. Taking 0 bytes needs no place but is a step of the plan. A step that is not the planned one
  /// ends the plan, also if it returns -1.
  int64_t take(int64_t bytes);
  /// Returns the planned stretch for short-lived pieces if that is the next step of the plan and the stretch
  /// is free. Otherwise returns a piece of 0 bytes and ends the plan.
  PlannedAllocation take_workspace();
  /// Frees a piece. `bytes` must be the value passed to take(), or that of the result of take_workspace().
  /// Allocates nothing.
  void give(int64_t place, int64_t bytes) noexcept;
  /// Stops following the plan.
  void leave_plan() { plan_ = {}; }

  int64_t capacity() const { return capacity_; }
  int64_t in_use() const { return in_use_; }  ///< Bytes in use, rounded up to kAlignment.
  int64_t high() const { return high_; }      ///< Highest end that any piece has had.
  /// Whether a plan was given and then left.
  bool left_plan() const { return planned_ && plan_.empty(); }

  /// Bytes by which capacity() is too small to place `bytes` after all other pieces; 0 if they fit.
  int64_t missing(int64_t bytes) const;
  /// Sets the capacity, which must not be smaller than before.
  void grow(int64_t capacity) { capacity_ = capacity; }

 private:
  struct Hole {
    int64_t begin;
    int64_t end;
  };
  bool occupy(int64_t place, int64_t size);
  void make_room_for_holes();

  int64_t capacity_;
  std::span<const PlannedAllocation> plan_;
  bool planned_;
  size_t next_ = 0;    // Next step of the plan.
  size_t pieces_ = 0;  // Number of pieces taken and not given back, except those of 0 bytes.
  int64_t in_use_ = 0;
  int64_t end_ = 0;  // End of the last piece. The bytes after it are free and do not count as a hole.
  int64_t high_ = 0;
  std::vector<Hole> holes_;  // Ascending. Holes never touch each other or end_.
};

}  // namespace plimsoll

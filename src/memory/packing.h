#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

/// Places pieces in a stretch of bytes 0 .. capacity: each in the smallest hole that it fits, else behind
/// all others. The same takes and gives get the same places in any stretch that is long enough, so what one
/// run of a piece of work needs, every run of it needs. Not thread-safe.
class Packing {
 public:
  static constexpr int64_t kAlignment = 64;

  explicit Packing(int64_t capacity) : capacity_(capacity) {}

  /// Where `bytes` go, a multiple of kAlignment; -1 where there is no room.
  int64_t take(int64_t bytes);
  /// Returns a piece with the bytes it was taken with.
  void give(int64_t place, int64_t bytes);

  int64_t capacity() const { return capacity_; }
  int64_t in_use() const { return in_use_; }  ///< bytes, rounded up to kAlignment
  int64_t high() const { return high_; }      ///< the end of the last piece there ever was

  /// By how much capacity() is too small for `bytes` behind all others; 0 where it is not.
  int64_t missing(int64_t bytes) const;
  void grow(int64_t capacity) { capacity_ = capacity; }

 private:
  struct Hole {
    int64_t begin;
    int64_t end;
  };
  int64_t capacity_;
  int64_t in_use_ = 0;
  int64_t end_ = 0;  // of the last piece; what is behind is free and no hole
  int64_t high_ = 0;
  std::vector<Hole> holes_;  // ascending, never touching each other or end_
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/tape.h"

namespace plimsoll {

/// Assigns an offset in one stretch of bytes to each piece of a tape, according to lifetimes. Pieces are
/// placed one after the other, each into the smallest gap between the pieces held at the same time (greedy by
/// size: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). The order is
/// the best of three: longest-lived first, largest first, and pseudo-random improvements of the latter
/// (Joslin and Clements, "Squeaky Wheel" Optimization, 1999). Equal inputs give equal layouts.
///
/// A layout stores only the relation "is below" between pieces. For another block, each piece is placed right
/// above the highest of the pieces below it, whatever the sizes. Pieces therefore never overlap, and the
/// bytes needed never fall when a size grows: the bytes for the maximum sizes are enough for all smaller
/// ones.
class Layout {
 public:
  Layout() = default;
  /// `pieces` has the sizes to optimise for: one per piece of the tape, each a multiple of
  /// Packing::kAlignment. A piece of 0 bytes gets no place, so it must have 0 bytes in each later place().
  Layout(const Tape& tape, std::span<const PlannedAllocation> pieces);

  /// Sets the offsets of pieces with other sizes and returns the bytes that hold all of them. `pieces` has
  /// one entry per piece of the tape, each a multiple of Packing::kAlignment. Thread-safe.
  int64_t place(std::span<PlannedAllocation> pieces) const;

 private:
  std::vector<int32_t> order_;      // Pieces from the lowest to the highest.
  std::vector<int32_t> below_ptr_;  // [order_ + 1]
  std::vector<int32_t> below_;      // Pieces right below order_[i].
};

}  // namespace plimsoll

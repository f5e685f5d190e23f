#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/tape.h"

namespace plimsoll {

/// Assigns the pieces of a tape to offsets in one stretch of bytes by lifetime. Each piece, the largest
/// first, goes into the smallest gap between the pieces held at the same time (greedy by size: Pisarchyk and
/// Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
///
/// A layout stores only which pieces are below which. In the tape of another block, each piece is placed
/// right above the highest of the pieces below it, whatever the sizes. So pieces never overlap, and the bytes
/// needed never fall when a size grows: the bytes for the maximum sizes are enough for all smaller ones.
class Layout {
 public:
  Layout() = default;
  /// `pieces` has the sizes to optimise for, one per piece of the tape, as multiples of Packing::kAlignment.
  Layout(const Tape& tape, std::span<const PlannedAllocation> pieces);

  /// Sets the places for other sizes and returns the bytes that hold all pieces. Thread-safe.
  int64_t place(std::span<PlannedAllocation> pieces) const;

 private:
  std::vector<int32_t> order_;      // Pieces from the lowest to the highest.
  std::vector<int32_t> below_ptr_;  // [order_ + 1]
  std::vector<int32_t> below_;      // Pieces right below order_[i].
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/tape.h"

namespace plimsoll {

/// Where the pieces of a tape go in one stretch of bytes: offsets by lifetime, each piece, the largest first,
/// in the smallest gap between those that are held at the same time (greedy by size: Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020).
///
/// What is kept is which piece lies below which. A piece of another block's tape lies right above the highest
/// of these, whatever the sizes: so places never overlap, and the bytes needed never fall when a size grows.
/// What a layout takes at the largest sizes is enough for all smaller ones.
class Layout {
 public:
  Layout() = default;
  /// `pieces`: the sizes it is made for, one for each piece of the tape, multiples of Packing::kAlignment.
  Layout(const Tape& tape, std::span<const PlannedPiece> pieces);

  /// Fills in places for other sizes and returns the bytes that hold all. Thread-safe.
  int64_t place(std::span<PlannedPiece> pieces) const;

 private:
  std::vector<int32_t> order_;      // pieces from the lowest
  std::vector<int32_t> below_ptr_;  // [order_ + 1]
  std::vector<int32_t> below_;      // pieces right below order_[i]
};

}  // namespace plimsoll

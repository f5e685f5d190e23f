#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "can/profile/gap.h"

namespace plimsoll {

/// Bins of time spans with 6 significant bits, at most 3 % wide. A distribution is learned in 4 KiB, however
/// many spans there are.
struct GapBins {
  /// Minimum span in nanoseconds. Shorter and negative spans count as this.
  static constexpr int64_t kShortest = 1000;
  static constexpr int kBits = 5;  ///< Significant bits after the first one.
  static constexpr int kLowest = std::bit_width(static_cast<uint64_t>(kShortest)) - 1;
  static constexpr int kHighest = 40;  ///< Highest bit: spans of 1,100 s and above.
  static constexpr size_t kBins = static_cast<size_t>(kHighest - kLowest + 1) << kBits;

  /// Nanoseconds from one time to another, limited to spans that have a bin.
  static int64_t gap_of(int64_t from, int64_t to) {
    return static_cast<int64_t>(
        std::clamp<uint64_t>(gap_ns(from, to), kShortest, (uint64_t{1} << (kHighest + 1)) - 1));
  }
  /// The bin of a result of gap_of().
  static size_t bin_of(int64_t gap) {
    const auto ns = static_cast<uint64_t>(gap);
    const int top = std::bit_width(ns) - 1;
    return static_cast<size_t>(top - kLowest) << kBits | ((ns >> (top - kBits)) & ((1U << kBits) - 1));
  }
  /// The minimum span of a bin. `bin` may be kBins, one past the last.
  static constexpr int64_t min_of(size_t bin) {
    const int top = static_cast<int>(bin >> kBits) + kLowest;
    return static_cast<int64_t>((uint64_t{1} << kBits | (bin & ((1U << kBits) - 1))) << (top - kBits));
  }

  /// The bin of the span at index `below` in ascending order. `counts` [kBins] must hold more than `below`
  /// spans.
  static size_t bin_at(std::span<const uint32_t> counts, int64_t below) {
    size_t bin = 0;
    while (below >= counts[bin]) below -= counts[bin++];
    return bin;
  }
};

}  // namespace plimsoll

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace plimsoll {

/// Nanoseconds from one time to another; 0 if time runs backwards.
inline uint64_t gap_ns(int64_t from, int64_t to) {
  return to > from ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from) : 0;
}

/// Result of gap_ns(), limited to 2^62 so that sums do not overflow.
inline int64_t bounded_gap_ns(int64_t from, int64_t to) {
  return static_cast<int64_t>(std::min(gap_ns(from, to), uint64_t{1} << 62));
}

/// A time span on the scale of all time features: ln(1 + microseconds), normalized to 0 at 0 and 1 at 10 s
/// and above.
inline double scaled_log(double ns) {
  constexpr double kMax = 1e10;
  constexpr double kLogOfMax = 16.11809575095832;  // ln(1 + 1e7)
  return std::log(1.0 + std::min(ns, kMax) * 1e-3) / kLogOfMax;
}

}  // namespace plimsoll

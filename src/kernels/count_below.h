#pragma once

#include <cstdint>

#include "kernels/warp.h"

namespace plimsoll {

/// Returns how many of `count` ascending numbers sorted[0], sorted[1], ... are below `value`. The numbers may
/// be computed on access.
template <typename Sorted, typename N>
PLIMSOLL_DEVICE int64_t count_below(const Sorted& sorted, int64_t count, N value) {
  int64_t first = 0;
  while (count > 0) {
    const int64_t half = count / 2;
    if (sorted[first + half] < value) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

}  // namespace plimsoll

#pragma once

#include <cstdint>

#include "kernels/warp.h"

namespace plimsoll {

/// How many of `count` numbers, ascending, are below `value`: sorted[0] and so on, which may be computed.
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

#pragma once

#include <cstdint>

namespace plimsoll {

/// A number stored in 16 bits: the upper half of a float. Kernels load it into float, compute in float, and
/// round to nearest, ties to even, when they store. NaN stays NaN.
struct BFloat16 {
  uint16_t bits;
};

}  // namespace plimsoll

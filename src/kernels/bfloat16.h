#pragma once

#include <cstdint>

namespace plimsoll {

/// A number as it is stored in 16 bits: the upper half of a float. Kernels read it into float, compute in
/// float, and round what they store to the nearest, ties to even; what is no number stays none.
struct BFloat16 {
  uint16_t bits;
};

}  // namespace plimsoll

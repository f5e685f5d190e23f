#include "kernels/segment/segment.h"

#include "kernels/levels.h"

namespace plimsoll {

PLIMSOLL_DECLARE_LEVELS(segment_f32, SegmentKernels<float>)
PLIMSOLL_DECLARE_LEVELS(segment_f64, SegmentKernels<double>)

template <>
const SegmentKernels<float>& segment_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, segment_f32);
}

template <>
const SegmentKernels<double>& segment_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, segment_f64);
}

}  // namespace plimsoll

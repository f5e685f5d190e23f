#include "kernels/segment.h"

namespace plimsoll {

// One file a level.
extern const SegmentKernels<float> segment_portable_f32;
extern const SegmentKernels<double> segment_portable_f64;
extern const SegmentKernels<float> segment_avx2_f32;
extern const SegmentKernels<double> segment_avx2_f64;
extern const SegmentKernels<float> segment_avx512_f32;
extern const SegmentKernels<double> segment_avx512_f64;

template <>
const SegmentKernels<float>& segment_kernels(Level level) {
  if (level == Level::avx512) return segment_avx512_f32;
  return level == Level::avx2 ? segment_avx2_f32 : segment_portable_f32;
}

template <>
const SegmentKernels<double>& segment_kernels(Level level) {
  if (level == Level::avx512) return segment_avx512_f64;
  return level == Level::avx2 ? segment_avx2_f64 : segment_portable_f64;
}

}  // namespace plimsoll

#include "kernels/segment_rows.h"

namespace plimsoll {

extern const SegmentKernels<float> segment_avx512_f32 = make_segment_kernels<float, 64>();
extern const SegmentKernels<double> segment_avx512_f64 = make_segment_kernels<double, 64>();

}  // namespace plimsoll

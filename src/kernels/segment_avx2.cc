#include "kernels/segment_rows.h"

namespace plimsoll {

extern const SegmentKernels<float> segment_avx2_f32 = make_segment_kernels<float, 32>();
extern const SegmentKernels<double> segment_avx2_f64 = make_segment_kernels<double, 32>();

}  // namespace plimsoll

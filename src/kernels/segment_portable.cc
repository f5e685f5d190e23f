#include "kernels/segment_rows.h"

namespace plimsoll {

extern const SegmentKernels<float> segment_portable_f32 = make_segment_kernels<float, 16>();
extern const SegmentKernels<double> segment_portable_f64 = make_segment_kernels<double, 16>();

}  // namespace plimsoll

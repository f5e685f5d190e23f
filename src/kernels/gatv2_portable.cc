#include "kernels/gatv2_rows.h"

namespace plimsoll {

extern const Gatv2Kernels<float> gatv2_portable_f32 = make_gatv2_kernels<float, 16>();
extern const Gatv2Kernels<double> gatv2_portable_f64 = make_gatv2_kernels<double, 16>();

}  // namespace plimsoll

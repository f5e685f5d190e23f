#include "kernels/gatv2_rows.h"

namespace plimsoll {

extern const Gatv2Kernels<float> gatv2_portable_f32 = make_gatv2_kernels<float, float, 16>();
extern const Gatv2Kernels<double> gatv2_portable_f64 = make_gatv2_kernels<double, double, 16>();
extern const Gatv2Kernels<float, BFloat16> gatv2_portable_bf16 = make_gatv2_kernels<float, BFloat16, 16>();

}  // namespace plimsoll

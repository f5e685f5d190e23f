#include "kernels/gatv2_rows.h"

namespace plimsoll {

extern const Gatv2Kernels<float> gatv2_avx512_f32 = make_gatv2_kernels<float, float, 64>();
extern const Gatv2Kernels<double> gatv2_avx512_f64 = make_gatv2_kernels<double, double, 64>();
extern const Gatv2Kernels<float, BFloat16> gatv2_avx512_bf16 = make_gatv2_kernels<float, BFloat16, 64>();

}  // namespace plimsoll

#include "kernels/gat_rows.h"

namespace plimsoll {

extern const GatKernels<float> gat_avx2_f32 = make_gat_kernels<float, float, 32>();
extern const GatKernels<double> gat_avx2_f64 = make_gat_kernels<double, double, 32>();
extern const GatKernels<float, BFloat16> gat_avx2_bf16 = make_gat_kernels<float, BFloat16, 32>();

}  // namespace plimsoll

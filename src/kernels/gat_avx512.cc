#include "kernels/gat_rows.h"

namespace plimsoll {

extern const GatKernels<float> gat_avx512_f32 = make_gat_kernels<float, float, 64>();
extern const GatKernels<double> gat_avx512_f64 = make_gat_kernels<double, double, 64>();
extern const GatKernels<float, BFloat16> gat_avx512_bf16 = make_gat_kernels<float, BFloat16, 64>();

}  // namespace plimsoll

#include "kernels/gat_rows.h"

namespace plimsoll {

extern const GatKernels<float> gat_portable_f32 = make_gat_kernels<float, float, 16>();
extern const GatKernels<double> gat_portable_f64 = make_gat_kernels<double, double, 16>();
extern const GatKernels<float, BFloat16> gat_portable_bf16 = make_gat_kernels<float, BFloat16, 16>();

}  // namespace plimsoll

#include "kernels/gat_rows.h"

namespace plimsoll {

extern const GatKernels<float> gat_avx512_f32 = make_gat_kernels<float, 64>();
extern const GatKernels<double> gat_avx512_f64 = make_gat_kernels<double, 64>();

}  // namespace plimsoll

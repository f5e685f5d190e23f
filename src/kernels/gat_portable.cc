#include "kernels/gat_rows.h"

namespace plimsoll {

extern const GatKernels<float> gat_portable_f32 = make_gat_kernels<float, 16>();
extern const GatKernels<double> gat_portable_f64 = make_gat_kernels<double, 16>();

}  // namespace plimsoll

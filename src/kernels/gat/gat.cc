#include "kernels/gat/gat.h"

#include "kernels/levels.h"

namespace plimsoll {

PLIMSOLL_DECLARE_LEVELS(gat_f32, GatKernels<float>)
PLIMSOLL_DECLARE_LEVELS(gat_f64, GatKernels<double>)
PLIMSOLL_DECLARE_LEVELS(gat_bf16, GatKernels<float, BFloat16>)

template <>
const GatKernels<float>& gat_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, gat_f32);
}

template <>
const GatKernels<double>& gat_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, gat_f64);
}

template <>
const GatKernels<float, BFloat16>& gat_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, gat_bf16);
}

int64_t gat_scratch_size(const EdgeOrder& order, int64_t heads) {
  return 4 * (order.max_in + 1) * heads + heads;
}

}  // namespace plimsoll

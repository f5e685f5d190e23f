#include "kernels/gatv2/gatv2.h"

#include "kernels/levels.h"

namespace plimsoll {

PLIMSOLL_DECLARE_LEVELS(gatv2_f32, Gatv2Kernels<float>)
PLIMSOLL_DECLARE_LEVELS(gatv2_f64, Gatv2Kernels<double>)
PLIMSOLL_DECLARE_LEVELS(gatv2_bf16, Gatv2Kernels<float, BFloat16>)

template <>
const Gatv2Kernels<float>& gatv2_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, gatv2_f32);
}

template <>
const Gatv2Kernels<double>& gatv2_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, gatv2_f64);
}

template <>
const Gatv2Kernels<float, BFloat16>& gatv2_kernels(Level level) {
  return PLIMSOLL_AT_LEVEL(level, gatv2_bf16);
}

int64_t gatv2_scratch_size(const EdgeOrder& order, int64_t heads, int64_t channels, int64_t edge_features) {
  return kGatv2Rows * heads * channels + (2 + kMaxBlock) * edge_features + 3 * (order.max_in + 1) * heads;
}

}  // namespace plimsoll

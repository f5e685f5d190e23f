#include "kernels/gat.h"

namespace plimsoll {

// One file a level.
extern const GatKernels<float> gat_portable_f32;
extern const GatKernels<double> gat_portable_f64;
extern const GatKernels<float, BFloat16> gat_portable_bf16;
extern const GatKernels<float> gat_avx2_f32;
extern const GatKernels<double> gat_avx2_f64;
extern const GatKernels<float, BFloat16> gat_avx2_bf16;
extern const GatKernels<float> gat_avx512_f32;
extern const GatKernels<double> gat_avx512_f64;
extern const GatKernels<float, BFloat16> gat_avx512_bf16;

template <>
const GatKernels<float>& gat_kernels(Level level) {
  if (level == Level::avx512) return gat_avx512_f32;
  return level == Level::avx2 ? gat_avx2_f32 : gat_portable_f32;
}

template <>
const GatKernels<double>& gat_kernels(Level level) {
  if (level == Level::avx512) return gat_avx512_f64;
  return level == Level::avx2 ? gat_avx2_f64 : gat_portable_f64;
}

template <>
const GatKernels<float, BFloat16>& gat_kernels(Level level) {
  if (level == Level::avx512) return gat_avx512_bf16;
  return level == Level::avx2 ? gat_avx2_bf16 : gat_portable_bf16;
}

int64_t gat_scratch_size(const EdgeOrder& order, int64_t heads) {
  return 4 * (order.most_in + 1) * heads + heads;
}

}  // namespace plimsoll

#include "kernels/gatv2.h"

namespace plimsoll {

// One file a level.
extern const Gatv2Kernels<float> gatv2_portable_f32;
extern const Gatv2Kernels<double> gatv2_portable_f64;
extern const Gatv2Kernels<float, BFloat16> gatv2_portable_bf16;
extern const Gatv2Kernels<float> gatv2_avx2_f32;
extern const Gatv2Kernels<double> gatv2_avx2_f64;
extern const Gatv2Kernels<float, BFloat16> gatv2_avx2_bf16;
extern const Gatv2Kernels<float> gatv2_avx512_f32;
extern const Gatv2Kernels<double> gatv2_avx512_f64;
extern const Gatv2Kernels<float, BFloat16> gatv2_avx512_bf16;

template <>
const Gatv2Kernels<float>& gatv2_kernels(Level level) {
  if (level == Level::avx512) return gatv2_avx512_f32;
  return level == Level::avx2 ? gatv2_avx2_f32 : gatv2_portable_f32;
}

template <>
const Gatv2Kernels<double>& gatv2_kernels(Level level) {
  if (level == Level::avx512) return gatv2_avx512_f64;
  return level == Level::avx2 ? gatv2_avx2_f64 : gatv2_portable_f64;
}

template <>
const Gatv2Kernels<float, BFloat16>& gatv2_kernels(Level level) {
  if (level == Level::avx512) return gatv2_avx512_bf16;
  return level == Level::avx2 ? gatv2_avx2_bf16 : gatv2_portable_bf16;
}

int64_t gatv2_scratch_size(const EdgeOrder& order, int64_t heads, int64_t channels, int64_t edge_features) {
  return kGatv2Rows * heads * channels + (2 + kMostBlock) * edge_features + 3 * (order.most_in + 1) * heads;
}

}  // namespace plimsoll

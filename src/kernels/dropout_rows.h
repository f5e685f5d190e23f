#pragma once

// dropout_factors() of dropout.h, compiled once a level by dropout_portable.cc, dropout_avx2.cc and
// dropout_avx512.cc. It draws integers, so every level gives the same bits.

#include <immintrin.h>

#include "kernels/dropout.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

/// Products of the low halves of 64-bit lanes.
template <int kLanes>
PLIMSOLL_INLINE typename Lanes<uint64_t, kLanes>::Vec multiply_halves(typename Lanes<uint64_t, kLanes>::Vec a,
                                                                      uint64_t factor) {
  using Vec = typename Lanes<uint64_t, kLanes>::Vec;
#ifdef __AVX512F__
  if constexpr (kLanes == 8) return (Vec)_mm512_mul_epu32((__m512i)a, (__m512i)(Vec{} + factor));
#endif
#ifdef __AVX2__
  if constexpr (kLanes == 4) return (Vec)_mm256_mul_epu32((__m256i)a, (__m256i)(Vec{} + factor));
#endif
  if constexpr (kLanes == 2) return (Vec)_mm_mul_epu32((__m128i)a, (__m128i)(Vec{} + factor));
  return a * factor;
}

/// Philox of base/philox.h for kLanes quads that follow each other; words in the low halves of lanes.
template <int kLanes>
struct PhiloxLanes {
  using Vec = typename Lanes<uint64_t, kLanes>::Vec;
  Vec word[4];

  PLIMSOLL_INLINE PhiloxLanes(uint64_t key, const Philox::Counter& first) {
    for (int i = 0; i < kLanes; ++i) word[0][i] = first.data()[0] + static_cast<uint32_t>(i);
    for (int w = 1; w < 4; ++w) word[w] = Vec{} + static_cast<uint64_t>(first.data()[w]);
    constexpr uint64_t kLow = 0xFFFFFFFF;
    auto k0 = static_cast<uint32_t>(key);
    auto k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const Vec p0 = multiply_halves<kLanes>(word[0], 0xD2511F53);
      const Vec p1 = multiply_halves<kLanes>(word[2], 0xCD9E8D57);
      word[0] = (p1 >> 32) ^ word[1] ^ static_cast<uint64_t>(k0);
      word[1] = p1 & kLow;
      word[2] = (p0 >> 32) ^ word[3] ^ static_cast<uint64_t>(k1);
      word[3] = p0 & kLow;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
  }

  /// The numbers of the quads one behind the other.
  PLIMSOLL_INLINE void store(uint32_t* to) const {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t pairs[2] = {word[0][i] | word[1][i] << 32, word[2][i] | word[3][i] << 32};
      __builtin_memcpy(to + 4 * i, pairs, sizeof(pairs));
    }
  }
};

template <int kBytes>
void dropout_rows(uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t rows, int64_t channels,
                  const int64_t* item, const int64_t* local, float* factors) {
  constexpr int kLanes = kBytes / 8;
  constexpr int64_t kDrawn = 4 * kLanes;
  const auto dropped_below = static_cast<uint32_t>(p * 0x1p32);
  const auto kept = static_cast<float>(1.0 / (1.0 - p));
  for (int64_t row = 0; row < rows; ++row) {
    const auto first = static_cast<uint64_t>(local[row] * channels);
    float* const to = factors + row * channels;
    // Numbers are drawn from the quad that the row begins in; `skip` of them belong to the row before.
    auto skip = static_cast<int64_t>(first % 4);
    uint64_t quad = first / 4;
    for (int64_t c = 0; c < channels; quad += kLanes) {
      uint32_t bits[kDrawn];
      PhiloxLanes<kLanes>(seed, philox_counter(Purpose::dropout, layer, epoch,
                                               static_cast<uint32_t>(item[row]), static_cast<uint32_t>(quad)))
          .store(bits);
      const int64_t count = kDrawn - skip < channels - c ? kDrawn - skip : channels - c;
      for (int64_t k = 0; k < count; ++k) to[c + k] = bits[skip + k] < dropped_below ? 0.0F : kept;
      c += count;
      skip = 0;
    }
  }
}

}  // namespace
}  // namespace plimsoll

#pragma once

// The kernels of dropout.h, compiled once for each level (levels.h). They draw integers, so every level gives
// the same bits.

#include <immintrin.h>

#include <utility>

#include "base/philox.h"
#include "kernels/dropout/dropout_kernels.h"
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
  return (a & 0xFFFFFFFF) * factor;
}

/// Philox of base/philox.h for kLanes consecutive quads. The 32-bit numbers are in the low halves of lanes.
/// The high halves hold arbitrary bits, which no product reads.
template <int kLanes>
struct PhiloxLanes {
  using Vec = typename Lanes<uint64_t, kLanes>::Vec;
  Vec word[4];

  PLIMSOLL_INLINE PhiloxLanes(uint64_t key, const Philox::Counter& first) {
    constexpr uint64_t kCount[] = {0, 1, 2, 3, 4, 5, 6, 7};
    word[0] = Lanes<uint64_t, kLanes>::load(kCount) + static_cast<uint64_t>(first.data()[0]);
    for (int w = 1; w < 4; ++w) word[w] = Vec{} + static_cast<uint64_t>(first.data()[w]);
    auto k0 = static_cast<uint32_t>(key);
    auto k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const Vec p0 = multiply_halves<kLanes>(word[0], 0xD2511F53);
      const Vec p1 = multiply_halves<kLanes>(word[2], 0xCD9E8D57);
      word[0] = (p1 >> 32) ^ word[1] ^ static_cast<uint64_t>(k0);
      word[1] = p1;
      word[2] = (p0 >> 32) ^ word[3] ^ static_cast<uint64_t>(k1);
      word[3] = p0;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
  }

  /// Stores the numbers of the quads one after the other.
  PLIMSOLL_INLINE void store(uint32_t* to) const {
    constexpr uint64_t kLow = 0xFFFFFFFF;
    interleave((word[0] & kLow) | word[1] << 32, (word[2] & kLow) | word[3] << 32,
               std::make_integer_sequence<int, kLanes>(), to);
  }

 private:
  template <int... kLane>
  static PLIMSOLL_INLINE void interleave(Vec even, Vec odd, std::integer_sequence<int, kLane...>,
                                         uint32_t* to) {
    const Vec first = __builtin_shufflevector(even, odd, (kLane / 2 + kLane % 2 * kLanes)...);
    const Vec second = __builtin_shufflevector(even, odd, (kLanes / 2 + kLane / 2 + kLane % 2 * kLanes)...);
    __builtin_memcpy(to, &first, sizeof(first));
    __builtin_memcpy(to + 2 * kLanes, &second, sizeof(second));
  }
};

/// Calls use(at, factors, count) repeatedly, until all elements are covered in order. Each call has `count`
/// factors for the elements from `at` on.
template <int kBytes, typename Use>
PLIMSOLL_INLINE void over_factors(const DropoutDraws& draws, const Use& use) {
  constexpr int kLanes = kBytes / 8;
  constexpr int64_t kDrawn = 4 * kLanes;
  const auto dropped_below = static_cast<uint32_t>(draws.p * 0x1p32);
  const auto kept = static_cast<float>(1.0 / (1.0 - draws.p));
  for (int64_t row = 0; row < draws.rows; ++row) {
    const int64_t local = draws.local == nullptr ? draws.first_row + row : draws.local[row];
    const auto first = static_cast<uint64_t>(local * draws.channels);
    const auto item = draws.item == nullptr ? 0 : static_cast<uint32_t>(draws.item[row]);
    // Numbers are drawn from the quad in which the row begins; the first `skip` of them belong to the
    // previous row.
    auto skip = static_cast<int64_t>(first % 4);
    uint64_t quad = first / 4;
    for (int64_t c = 0; c < draws.channels; quad += kLanes) {
      uint32_t bits[kDrawn];
      float factors[kDrawn];
      PhiloxLanes<kLanes>(draws.seed, philox_counter(Purpose::dropout, draws.layer, draws.epoch, item,
                                                     static_cast<uint32_t>(quad)))
          .store(bits);
      for (int64_t k = 0; k < kDrawn; ++k) factors[k] = bits[k] < dropped_below ? 0.0F : kept;
      const int64_t count = kDrawn - skip < draws.channels - c ? kDrawn - skip : draws.channels - c;
      use(row * draws.channels + c, factors + skip, count);
      c += count;
      skip = 0;
    }
  }
}

/// NaN stays NaN, because it is not below 0.
PLIMSOLL_INLINE float relu_times(float x, float factor) {
  return (x <= 0 ? 0.0F : x) * factor;
}

template <int kBytes>
void times_of_rows(const DropoutDraws& draws, const float* x, float* out) {
  constexpr int64_t kDrawn = kBytes / 2;
  over_factors<kBytes>(
      draws, [&](int64_t at, const float* factors, int64_t count) __attribute__((always_inline)) {
        if (count == kDrawn) {  // A constant that the compiler knows.
          for (int64_t k = 0; k < kDrawn; ++k) out[at + k] = x[at + k] * factors[k];
          return;
        }
        for (int64_t k = 0; k < count; ++k) out[at + k] = x[at + k] * factors[k];
      });
}

template <int kBytes>
void relu_of_rows(const DropoutDraws& draws, const float* x, float* out) {
  constexpr int64_t kDrawn = kBytes / 2;
  over_factors<kBytes>(
      draws, [&](int64_t at, const float* factors, int64_t count) __attribute__((always_inline)) {
        if (count == kDrawn) {  // A constant that the compiler knows.
          for (int64_t k = 0; k < kDrawn; ++k) out[at + k] = relu_times(x[at + k], factors[k]);
          return;
        }
        for (int64_t k = 0; k < count; ++k) out[at + k] = relu_times(x[at + k], factors[k]);
      });
}

inline void relu_backward(double p, int64_t count, const float* grad, const float* out, float* dx) {
  const auto kept = static_cast<float>(1.0 / (1.0 - p));
  for (int64_t i = 0; i < count; ++i) dx[i] = out[i] <= 0 ? 0.0F : grad[i] * kept;
}

template <int kBytes>
constexpr DropoutKernels make_dropout_kernels() {
  return {times_of_rows<kBytes>, relu_of_rows<kBytes>, relu_backward};
}

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const DropoutKernels dropout_kernels = make_dropout_kernels<PLIMSOLL_VECTOR_BYTES>();
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll

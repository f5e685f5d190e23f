#pragma once

// Uses the compiler's vector types, for the files that are compiled once for each level (level.h). Everything
// here is in an unnamed namespace on purpose: a function compiled for one level must never be linked into
// another. For the same reason these files call no inline function of the standard library.

#include <cmath>
#include <cstdint>

#include "kernels/bfloat16.h"

namespace plimsoll {
namespace {

#define PLIMSOLL_INLINE inline __attribute__((always_inline))

/// A vector of kLanes numbers of type T. One lane is T itself.
template <typename T, int kLanes>
struct Lanes {
  typedef T Vec __attribute__((vector_size(kLanes * sizeof(T))));  // NOLINT: an alias loses the attribute
  typedef T Loose                                                  // NOLINT: need not be aligned
      __attribute__((vector_size(kLanes * sizeof(T)), aligned(alignof(T)), may_alias));
  static PLIMSOLL_INLINE Vec load(const T* at) { return *reinterpret_cast<const Loose*>(at); }
  static PLIMSOLL_INLINE void store(T* at, Vec value) { *reinterpret_cast<Loose*>(at) = value; }
  static PLIMSOLL_INLINE Vec load(const BFloat16* at) {
    using Bits = typename Lanes<uint32_t, kLanes>::Vec;
    const auto bits = Lanes<uint16_t, kLanes>::load(reinterpret_cast<const uint16_t*>(at));
    return __builtin_bit_cast(Vec, __builtin_convertvector(bits, Bits) << 16);
  }
  static PLIMSOLL_INLINE void store(BFloat16* at, Vec value) {
    using Half = typename Lanes<uint16_t, kLanes>::Vec;
    const auto bits = __builtin_bit_cast(typename Lanes<uint32_t, kLanes>::Vec, value);
    const auto nearest = bits + ((bits >> 16 & 1U) + 0x7FFFU);
    const auto upper = (value == value ? nearest : bits | 0x400000U) >> 16;
    Lanes<uint16_t, kLanes>::store(reinterpret_cast<uint16_t*>(at), __builtin_convertvector(upper, Half));
  }
  static PLIMSOLL_INLINE Vec all(T value) { return value - Vec{}; }
  /// Returns the sum of the lanes, always in the same order: the two halves are added to each other, then the
  /// halves of the result, and so on.
  static PLIMSOLL_INLINE T sum(Vec v) {
    if constexpr (kLanes == 2) {
      return v[0] + v[1];
    } else {
      using Half = typename Lanes<T, kLanes / 2>::Vec;
      Half low;
      Half high;
      __builtin_memcpy(&low, &v, sizeof(low));
      __builtin_memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof(low), sizeof(high));
      return Lanes<T, kLanes / 2>::sum(low + high);
    }
  }
};

template <typename T>
struct Lanes<T, 1> {
  using Vec = T;
  static PLIMSOLL_INLINE T load(const T* at) { return *at; }
  static PLIMSOLL_INLINE void store(T* at, T value) { *at = value; }
  static PLIMSOLL_INLINE T load(const BFloat16* at) {
    return __builtin_bit_cast(T, static_cast<uint32_t>(at->bits) << 16);
  }
  static PLIMSOLL_INLINE void store(BFloat16* at, T value) {
    const auto bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t nearest = bits + ((bits >> 16 & 1U) + 0x7FFFU);
    at->bits = static_cast<uint16_t>((value == value ? nearest : bits | 0x400000U) >> 16);
  }
  static PLIMSOLL_INLINE T all(T value) { return value; }
  static PLIMSOLL_INLINE T sum(T v) { return v; }
};

/// Returns exp of numbers not above 0, to 2 units in the last place. Numbers below -87 count as -87, and NaN
/// stays NaN. x = n ln2 + r with |r| <= ln2/2; exp(r) uses the polynomial of Cephes' expf.
template <int kLanes>
PLIMSOLL_INLINE typename Lanes<float, kLanes>::Vec exp_of_negative(const Lanes<float, kLanes>&,
                                                                   typename Lanes<float, kLanes>::Vec x) {
  using Vec = typename Lanes<float, kLanes>::Vec;
  using Bits = typename Lanes<uint32_t, kLanes>::Vec;
  const Vec min = Vec{} - 87.0F;
  x = x < min ? min : x;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits.
  const Vec shifted = x * 1.44269504F + kRound;
  const Vec n = shifted - kRound;
  const Vec r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  Vec p = 1.9875691500e-4F * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const Bits power = (__builtin_bit_cast(Bits, shifted) - __builtin_bit_cast(uint32_t, kRound)) << 23;
  const Vec result = __builtin_bit_cast(Vec, __builtin_bit_cast(Bits, p) + power);
  return x == x ? result : x;  // Adding to the exponent could turn the bits of a NaN into a number.
}

/// float64 calls the C library.
template <int kLanes>
PLIMSOLL_INLINE typename Lanes<double, kLanes>::Vec exp_of_negative(const Lanes<double, kLanes>&,
                                                                    typename Lanes<double, kLanes>::Vec x) {
  if constexpr (kLanes == 1) {
    return ::exp(x);
  } else {
    for (int i = 0; i < kLanes; ++i) x[i] = ::exp(x[i]);
    return x;
  }
}

}  // namespace
}  // namespace plimsoll

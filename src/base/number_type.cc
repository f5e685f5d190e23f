#include "base/number_type.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plimsoll {
namespace {

constexpr std::array<const char*, 5> kNames = {"f32", "f16", "bf16", "u8", "i8"};

template <typename T>
T load(const std::byte* from, size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof value);
  return value;
}

// Moves sign, exponent and fraction to their places in f32. A subnormal is its fraction times 2^-24. The
// computation uses only normal numbers, so it does not depend on whether the processor flushes subnormals to
// zero.
float from_f16(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000U} << 16;
  const uint32_t magnitude = half & 0x7FFFU;
  const uint32_t normal = (magnitude << 13) + (112U << 23);
  const auto subnormal =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24F);
  const uint32_t endless = normal + (112U << 23);
  const uint32_t bits = magnitude < 0x0400 ? subnormal : magnitude < 0x7C00 ? normal : endless;
  return std::bit_cast<float>(sign | bits);
}

uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U);   // NaN
  if (magnitude >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);  // 65520 rounds to infinity
  if (magnitude < 0x38800000U) {  // Below the normal numbers of f16.
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24F;
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(scaled)));
  }
  const uint32_t rounded = magnitude - (112U << 23) + 0x0FFFU + (magnitude >> 13 & 1U);
  return static_cast<uint16_t>(sign | rounded >> 13);
}

uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>(bits >> 16 | 0x0040U);  // NaN is kept.
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

template <typename Whole>
Whole to_whole(float value) {
  if (std::isnan(value)) return 0;
  constexpr auto kMin = static_cast<float>(std::numeric_limits<Whole>::min());
  constexpr auto kMax = static_cast<float>(std::numeric_limits<Whole>::max());
  return static_cast<Whole>(std::nearbyint(std::fmin(std::fmax(value, kMin), kMax)));
}

void widen_f16(const std::byte* from, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = from_f16(load<uint16_t>(from, i));
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) void widen_f16_in_eights(const std::byte* from, std::span<float> to) {
  size_t i = 0;
  for (; i + 8 <= to.size(); i += 8)
    _mm256_storeu_ps(to.data() + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * i))));
  widen_f16(from + 2 * i, to.subspan(i));
}
#endif

using WidenF16 = void (*)(const std::byte*, std::span<float>);
WidenF16 choose_widen_f16() {
#if defined(__x86_64__)
  // Every processor with AVX2 has F16C. clang 14 cannot check for F16C itself.
  if (__builtin_cpu_supports("avx2")) return widen_f16_in_eights;
#endif
  return widen_f16;
}

// Calls visit(rounded) with a function that rounds a value to the stored form of the type.
template <typename Visit>
auto with_rounding(NumberType type, const Visit& visit) {
  switch (type) {
    case NumberType::f16:
      return visit(to_f16);
    case NumberType::bf16:
      return visit(to_bf16);
    case NumberType::u8:
      return visit(to_whole<uint8_t>);
    case NumberType::i8:
      return visit(to_whole<int8_t>);
    case NumberType::f32:
      break;
  }
  return visit([](float value) { return value; });
}

}  // namespace

int64_t bytes_of(NumberType type) {
  switch (type) {
    case NumberType::f32:
      return 4;
    case NumberType::f16:
    case NumberType::bf16:
      return 2;
    case NumberType::u8:
    case NumberType::i8:
      break;
  }
  return 1;
}

std::string name_of(NumberType type) {
  return kNames[static_cast<size_t>(type)];
}

std::optional<NumberType> number_type(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<NumberType>(i);
  return std::nullopt;
}

void widen(NumberType type, const std::byte* from, std::span<float> to) {
  static const WidenF16 widen_halves = choose_widen_f16();
  switch (type) {
    case NumberType::f32:
      if (!to.empty()) std::memcpy(to.data(), from, to.size_bytes());
      return;
    case NumberType::f16:
      return widen_halves(from, to);
    case NumberType::bf16:
      for (size_t i = 0; i < to.size(); ++i)
        to[i] = std::bit_cast<float>(uint32_t{load<uint16_t>(from, i)} << 16);
      return;
    case NumberType::u8:
      for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(load<uint8_t>(from, i));
      return;
    case NumberType::i8:
      for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(load<int8_t>(from, i));
      return;
  }
}

void round_to(NumberType type, std::span<const float> from, std::byte* to) {
  with_rounding(type, [&](const auto& rounded) {
    for (const float value : from) {
      const auto stored = rounded(value);
      std::memcpy(to, &stored, sizeof stored);
      to += sizeof stored;
    }
  });
}

bool survives(NumberType type, std::span<const float> values) {
  return with_rounding(type, [&](const auto& rounded) {
    for (const float value : values) {
      const auto stored = rounded(value);
      float again = 0;
      widen(type, reinterpret_cast<const std::byte*>(&stored), std::span(&again, 1));
      if (std::bit_cast<uint32_t>(again) != std::bit_cast<uint32_t>(value)) return false;
    }
    return true;
  });
}

}  // namespace plimsoll

#include "base/number_type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace plimsoll {
namespace {

using Half = _Float16;  // The compiler's own conversions are the reference.

uint32_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}

std::vector<float> widened(NumberType type, const void* from, size_t count) {
  std::vector<float> to(count);
  widen(type, static_cast<const std::byte*>(from), to);
  return to;
}

template <typename T>
T rounded(NumberType type, float value) {
  T stored;
  round_to(type, std::span(&value, 1), reinterpret_cast<std::byte*>(&stored));
  return stored;
}

TEST(NumberType, WidensEveryHalf) {
  std::vector<uint16_t> halves;
  for (uint32_t half = 0; half <= 0xFFFF; ++half)
    if ((half & 0x7C00) != 0x7C00 || (half & 0x03FF) == 0) halves.push_back(static_cast<uint16_t>(half));
  const std::vector<float> together = widened(NumberType::f16, halves.data(), halves.size());
  for (size_t i = 0; i < halves.size(); ++i) {
    const auto expected = static_cast<float>(std::bit_cast<Half>(halves[i]));
    ASSERT_EQ(bits(together[i]), bits(expected)) << halves[i];
    ASSERT_EQ(bits(widened(NumberType::f16, &halves[i], 1)[0]), bits(expected)) << halves[i];
    ASSERT_EQ(rounded<uint16_t>(NumberType::f16, expected), halves[i]);
    ASSERT_TRUE(survives(NumberType::f16, std::span(&together[i], 1)));
  }
}

TEST(NumberType, RoundsToTheNearestHalf) {
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(rounded<uint16_t>(NumberType::f16, value), std::bit_cast<uint16_t>(static_cast<Half>(value)))
        << value;
  }
  for (const float value :
       {65504.F, 65519.99F, 65520.F, 0x1p-25F, 0x1.8p-25F, 0x1p-24F, 1.00048828125F, 1.00146484375F})
    for (const float sign : {1.F, -1.F})
      EXPECT_EQ(rounded<uint16_t>(NumberType::f16, sign * value),
                std::bit_cast<uint16_t>(static_cast<Half>(sign * value)))
          << value;
}

TEST(NumberType, Bf16IsTheUpperHalfRoundedToEven) {
  EXPECT_EQ(rounded<uint16_t>(NumberType::bf16, 1.F), 0x3F80);
  EXPECT_EQ(rounded<uint16_t>(NumberType::bf16, std::bit_cast<float>(0x3F808000U)),
            0x3F80);  // A tie rounds to even.
  EXPECT_EQ(rounded<uint16_t>(NumberType::bf16, std::bit_cast<float>(0x3F818000U)), 0x3F82);
  EXPECT_EQ(rounded<uint16_t>(NumberType::bf16, std::bit_cast<float>(0x3F808001U)), 0x3F81);
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(
      uint32_t{rounded<uint16_t>(NumberType::bf16, std::bit_cast<float>(0x7F800001U))} << 16)));
  const uint16_t stored = 0xC049;
  EXPECT_EQ(bits(widened(NumberType::bf16, &stored, 1)[0]), 0xC0490000U);
}

TEST(NumberType, WholeNumbersKeepToTheirRange) {
  for (int value = -128; value <= 255; ++value) {
    const auto number = static_cast<float>(value);
    EXPECT_EQ(survives(NumberType::u8, std::span(&number, 1)), value >= 0) << value;
    EXPECT_EQ(survives(NumberType::i8, std::span(&number, 1)), value <= 127) << value;
    const auto byte = static_cast<int8_t>(value);
    if (value <= 127) {
      EXPECT_EQ(widened(NumberType::i8, &byte, 1)[0], number);
    }
  }
  for (const float value : {0.5F, -0.F, 256.F, -129.F, std::numeric_limits<float>::infinity()}) {
    EXPECT_FALSE(survives(NumberType::u8, std::span(&value, 1))) << value;
    EXPECT_FALSE(survives(NumberType::i8, std::span(&value, 1))) << value;
  }
  EXPECT_EQ(rounded<int8_t>(NumberType::i8, -300.F), -128);
  EXPECT_EQ(rounded<uint8_t>(NumberType::u8, 2.5F), 2);
}

TEST(NumberType, HasNames) {
  for (const NumberType type :
       {NumberType::f32, NumberType::f16, NumberType::bf16, NumberType::u8, NumberType::i8})
    EXPECT_EQ(number_type(name_of(type)), type);
  EXPECT_EQ(number_type("f64"), std::nullopt);
}

}  // namespace
}  // namespace plimsoll

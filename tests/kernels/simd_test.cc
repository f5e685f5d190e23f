#include "kernels/simd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plimsoll {
namespace {

template <int kLanes>
float exp_in_every_lane(float x) {
  using L = Lanes<float, kLanes>;
  const typename L::Vec result = exp_of_negative(L(), L::all(x));
  float lanes[kLanes];
  L::store(lanes, result);
  for (const float lane : lanes)
    EXPECT_TRUE(lane == lanes[0] || (std::isnan(lane) && std::isnan(lanes[0]))) << x;
  return lanes[0];
}

TEST(ExpOfNegative, IsRightToTwoUnitsInTheLastPlace) {
  double worst = 0;
  for (float x = 0; x > -87; x -= 0.00037F) {
    const double exact = std::exp(static_cast<double>(x));
    const auto rounded = static_cast<float>(exact);
    const double unit = std::nextafter(rounded, 2.0F) - rounded;
    worst = std::max(worst, std::fabs(exp_in_every_lane<4>(x) - exact) / unit);
  }
  EXPECT_LE(worst, 2);
}

TEST(ExpOfNegative, IsTheSameForEveryNumberOfLanes) {
  for (float x = 0; x > -90; x -= 0.0137F) EXPECT_EQ(exp_in_every_lane<4>(x), exp_in_every_lane<1>(x));
}

TEST(ExpOfNegative, HasItsEnds) {
  EXPECT_EQ(exp_in_every_lane<4>(0.0F), 1.0F);
  EXPECT_EQ(exp_in_every_lane<4>(-0.0F), 1.0F);
  const float min = exp_in_every_lane<4>(-87.0F);
  EXPECT_GT(min, 0.0F);
  EXPECT_EQ(exp_in_every_lane<4>(-1000.0F), min);
  EXPECT_EQ(exp_in_every_lane<4>(-std::numeric_limits<float>::infinity()), min);
  EXPECT_TRUE(std::isnan(exp_in_every_lane<4>(std::numeric_limits<float>::quiet_NaN())));
}

// The low bits of a NaN are not specified.
TEST(ExpOfNegative, OfAnyNaNIsOne) {
  for (const uint32_t bits : {0x7F800001U, 0x7FC00001U, 0x7FC00100U, 0x7FFFFFFFU, 0xFFC001FFU}) {
    EXPECT_TRUE(std::isnan(exp_in_every_lane<1>(__builtin_bit_cast(float, bits)))) << bits;
    EXPECT_TRUE(std::isnan(exp_in_every_lane<4>(__builtin_bit_cast(float, bits)))) << bits;
    EXPECT_TRUE(std::isnan(exp_in_every_lane<16>(__builtin_bit_cast(float, bits)))) << bits;
  }
}

TEST(Lanes, SumHalvesFirst) {
  using L = Lanes<float, 4>;
  const float numbers[] = {1e8F, 1, -1e8F, 3};
  EXPECT_EQ(L::sum(L::load(numbers)), 4.0F);
  using One = Lanes<double, 1>;
  EXPECT_EQ(One::sum(3.5), 3.5);
}

}  // namespace
}  // namespace plimsoll

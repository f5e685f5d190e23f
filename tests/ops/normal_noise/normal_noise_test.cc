#include "ops/normal_noise/normal_noise.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

at::Tensor noise(int64_t rows, int64_t channels, uint64_t seed = 1, uint32_t epoch = 1, int64_t first = 0) {
  const at::Tensor row = at::arange(first, first + rows);
  return normal_noise(at::empty({rows, channels}, at::kFloat), seed, epoch, row.div(10, "floor"), row % 10);
}

TEST(NormalNoise, HasTheMomentsOfAStandardNormalDistribution) {
  const at::Tensor n = noise(20'000, 7).to(at::kDouble);
  const double count = 140'000;
  EXPECT_NEAR(n.mean().item<double>(), 0, 4 / std::sqrt(count));
  EXPECT_NEAR(n.square().mean().item<double>(), 1, 4 * std::sqrt(2 / count));
  EXPECT_NEAR(n.pow(3).mean().item<double>(), 0, 4 * std::sqrt(15 / count));
  EXPECT_NEAR(n.pow(4).mean().item<double>(), 3, 4 * std::sqrt(96 / count));
  EXPECT_NEAR((n.abs() > 1.959964).to(at::kDouble).mean().item<double>(), 0.05, 4 * std::sqrt(0.05 / count));
  // Neighbours in a row or in a column are uncorrelated.
  EXPECT_NEAR((n.slice(1, 1) * n.slice(1, 0, -1)).mean().item<double>(), 0, 4 / std::sqrt(count));
  EXPECT_NEAR((n.slice(0, 1) * n.slice(0, 0, -1)).mean().item<double>(), 0, 4 / std::sqrt(count));
}

TEST(NormalNoise, DependsOnItsKeysAlone) {
  EXPECT_TRUE(at::equal(noise(100, 6).slice(0, 37), noise(63, 6, 1, 1, 37)));
  EXPECT_FALSE(at::equal(noise(100, 6), noise(100, 6, 2)));
  EXPECT_FALSE(at::equal(noise(100, 6), noise(100, 6, 1, 2)));
  const at::Tensor flat = noise(100, 6).flatten();
  EXPECT_EQ(std::get<0>(at::_unique(flat)).numel(), 600) << "two places share a number";
}

TEST(NormalNoise, NoRowsAreFine) {
  EXPECT_EQ(noise(0, 6).numel(), 0);
}

}  // namespace
}  // namespace plimsoll

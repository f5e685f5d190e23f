#include "nn/parameters.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll {
namespace {

TEST(Init, HasTheSpreadItNames) {
  ParameterList parameters(11);
  const auto moments = [](const at::Tensor& tensor) {
    const float* const values = tensor.const_data_ptr<float>();
    double sum = 0;
    double squares = 0;
    float largest = 0;
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      sum += values[i];
      squares += static_cast<double>(values[i]) * values[i];
      largest = std::max(largest, std::abs(values[i]));
    }
    const auto n = static_cast<double>(tensor.numel());
    return std::tuple(sum / n, std::sqrt(squares / n), largest);
  };
  const auto [normal_mean, normal_deviation, normal_largest] =
      moments(parameters.add("a", {300, 300}, Init::normal()));
  EXPECT_NEAR(normal_mean, 0, 0.02);
  EXPECT_NEAR(normal_deviation, 1, 0.02);
  EXPECT_GT(normal_largest, 3);
  const auto [mean, deviation, largest] = moments(parameters.add("b", {300, 300}, Init::glorot(300, 300)));
  EXPECT_NEAR(mean, 0, 0.002);
  EXPECT_NEAR(deviation, 0.1 / std::sqrt(3.0), 0.001);
  EXPECT_LE(largest, 0.1F);
  EXPECT_NEAR(Init::linear(64).bound, 0.125, 1e-12);
  EXPECT_EQ(std::get<2>(moments(parameters.add("c", {10}, Init::zeros()))), 0);
}

}  // namespace
}  // namespace plimsoll

#include "nn/parameters.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "nn/jumping_knowledge.h"
#include "support/errors.h"

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

TEST(Init, NumbersFarApartDiffer) {
  std::vector<float> low(4), high(4);
  initial_values(Init::normal(), 11, 0, 0, low);
  initial_values(Init::normal(), 11, 0, int64_t{1} << 32, high);
  for (size_t i = 0; i < low.size(); ++i) EXPECT_NE(low[i], high[i]);
}

// The product of these sizes, and sums of them, do not fit into 64 bits.
TEST(Parameters, ThatNobodyCouldHoldAreRefused) {
  const MetaParameters without_data;
  ParameterList parameters(11);
  const int64_t wide = int64_t{1} << 32;
  EXPECT_NE(error_text<UsageError>([&] {
              parameters.add("a", {wide, wide}, Init::zeros());
            }).find("a of shape"),
            std::string::npos);
  parameters.add("b", {1 << 20, 1 << 19}, Init::zeros());
  parameters.add("c", {1 << 20, 1 << 19}, Init::zeros());
  EXPECT_NE(error_text<UsageError>([&] { parameters.add("d", {1}, Init::zeros()); }), "");
}

// With one output of one channel an LSTM would have no hidden state, and its initial weights would be
// unbounded.
TEST(JumpingKnowledge, AnLstmNeedsTwoChannelsInAll) {
  ParameterList parameters(11);
  EXPECT_NE(
      error_text<UsageError>([&] { JumpingKnowledge(parameters, "jk", JkMode::lstm, 1, 1); }).find("lstm"),
      std::string::npos);
  JumpingKnowledge(parameters, "jk", JkMode::lstm, 1, 2);
}

TEST(GivenValues, AreWhatParametersAndBuffersAre) {
  const at::Tensor given = at::ones({2, 3});
  std::vector<std::string> names;
  std::optional<GivenValues> scope([&](const std::string& name, const std::vector<int64_t>& shape) {
    names.push_back(name);
    EXPECT_EQ(shape, (std::vector<int64_t>{2, 3}));
    return given;
  });
  ParameterList parameters(11);
  EXPECT_TRUE(parameters.add("a", {2, 3}, Init::normal()).is_same(given));
  EXPECT_TRUE(parameters.add_buffer("b", {2, 3}, 7).is_same(given));
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parameters.all().size(), 2U);
  EXPECT_FALSE(parameters.entries()[0].value.requires_grad());
  scope.reset();
  EXPECT_FALSE(parameters.add("c", {2, 3}, Init::normal()).is_same(given));
}

TEST(InitialValuesTest, DifferBeyondTwoToThe32) {
  std::array<float, 4> low = {};
  std::array<float, 4> high = {};
  const Init init{Init::Kind::uniform, 1};
  initial_values(init, 1, 0, 5, low);
  initial_values(init, 1, 0, (int64_t{1} << 32) + 5, high);
  EXPECT_NE(low, high);
}

}  // namespace
}  // namespace plimsoll

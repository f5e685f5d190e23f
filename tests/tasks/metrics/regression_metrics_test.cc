#include "tasks/metrics/regression_metrics.h"

#include <gtest/gtest.h>

#include <limits>

namespace plimsoll {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

// An example with two outputs; the values are those of scikit-learn's r2_score.
TEST(RegressionFigures, TwoTargets) {
  const std::vector<float> targets = {0.5F, 1, -1, 1, 7, -6};
  const std::vector<float> values = {0, 2, -1, 2, 8, -5};
  const auto figures = regression_figures(values, targets, 2);
  EXPECT_EQ(figures.items, 3);
  EXPECT_NEAR(*figures.targets[0].mae, 0.5, 1e-12);
  EXPECT_NEAR(*figures.targets[1].mae, 1, 1e-12);
  EXPECT_NEAR(*figures.targets[1].rmse, 1, 1e-12);
  EXPECT_NEAR(*figures.targets[0].r2, 1 - 1.25 / 36.166666666666664, 1e-12);
  EXPECT_NEAR(*figures.targets[1].r2, 1 - 3 / 32.666666666666664, 1e-12);
  EXPECT_NEAR(*figures.mean.mae, 0.75, 1e-12);
}

TEST(RegressionFigures, WhatIsUnknownIsLeftOut) {
  const std::vector<float> targets = {kUnknown, 1, kUnknown, kUnknown, 3, kUnknown};
  const std::vector<float> values = {9, 2, 9, 9, 3, 9};
  const auto figures = regression_figures(values, targets, 2);
  EXPECT_EQ(figures.items, 2);
  EXPECT_EQ(figures.targets[0].mae, 0);
  EXPECT_EQ(figures.targets[1].mae, 1);
  EXPECT_FALSE(figures.targets[1].r2.has_value());
  EXPECT_FALSE(figures.mean.r2.has_value());
  EXPECT_FALSE(regression_figures({}, {}, 1).mean.mae.has_value());
}

}  // namespace
}  // namespace plimsoll

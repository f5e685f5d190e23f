#include "tasks/metrics/label_metrics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace plimsoll {
namespace {

const float kUnknownLabel = std::nanf("");

// Expected values: scikit-learn 1.9, f1_score over all known labels, and the mean of roc_auc_score.
TEST(LabelMetrics, CountsKnownLabelsAlone) {
  const std::array<float, 8> logits = {2, -1, -1, 3, 0.5, -2, -3, 1};
  const std::array<float, 8> labels = {1, 0, 1, kUnknownLabel, 0, 1, 0, kUnknownLabel};
  const LabelFigures figures = label_figures(logits, labels, 2);
  EXPECT_EQ(figures.items, 4);
  EXPECT_DOUBLE_EQ(*figures.micro_f1, 2.0 * 1 / (2 * 1 + 1 + 2));
  // 3 of 4 pairs of the first label are in order, and none of the second.
  EXPECT_DOUBLE_EQ(*figures.macro_auc, (0.75 + 0) / 2);
}

TEST(LabelMetrics, AFigureWithoutItsValuesIsUndefined) {
  const std::array<float, 2> logits = {-2, -1};
  const std::array<float, 2> labels = {0, 0};
  const LabelFigures figures = label_figures(logits, labels, 1);
  EXPECT_FALSE(figures.micro_f1);
  EXPECT_FALSE(figures.macro_auc);
}

TEST(LabelMetrics, AnUnknownLabelCountsWithLossZero) {
  const std::array<float, 4> logits = {0, 5, 2, -2};
  const std::array<float, 4> labels = {1, kUnknownLabel, 0, 1};
  const double each = std::log1p(std::exp(2.0));
  EXPECT_DOUBLE_EQ(mean_label_loss(logits, labels), (std::log(2.0) + each + each) / 4);
}

}  // namespace
}  // namespace plimsoll

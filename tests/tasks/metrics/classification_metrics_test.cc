#include "tasks/metrics/classification_metrics.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

// Golden numbers: scikit-learn 1.9.1, accuracy_score, f1_score and roc_auc_score (of softmax(logits),
// multi_class="ovr", average="macro").
TEST(ClassificationFigures, TwoClasses) {
  const std::vector<float> logits = {2, 1, 0, 3, 1, 1.5F, 4, 0, 0.5F, 0.4F, 1, 2};
  const std::vector<int64_t> labels = {0, 1, 0, 0, 1, 1};
  const auto figures = classification_figures(logits, labels, 2);
  EXPECT_DOUBLE_EQ(*figures.accuracy, 4.0 / 6);
  EXPECT_DOUBLE_EQ(*figures.f1, 4.0 / 6);
  EXPECT_DOUBLE_EQ(*figures.auc, 8.0 / 9);
  EXPECT_EQ(figures.confusion, (std::vector<int64_t>{2, 1, 1, 2}));
}

TEST(ClassificationFigures, ThreeClasses) {
  const std::vector<float> logits = {3, 1, 0, 0, 2, 1, 1, 0, 2, 2, 1, 0, 0, 1, 3, 1, 2, 0, 0, 0, 1};
  const std::vector<int64_t> labels = {0, 1, 2, 1, 2, 1, 0};
  const auto figures = classification_figures(logits, labels, 3);
  EXPECT_DOUBLE_EQ(*figures.accuracy, 5.0 / 7);
  EXPECT_DOUBLE_EQ(*figures.f1, (0.5 + 0.8 + 0.8) / 3);
  EXPECT_NEAR(*figures.auc, 0.9, 1e-12);
}

TEST(ClassificationFigures, WhatNeedsAnAbsentClassIsUndefined) {
  const std::vector<float> logits = {2, 1, 3, 0};
  const std::vector<int64_t> labels = {0, 0};
  const auto figures = classification_figures(logits, labels, 2);
  EXPECT_DOUBLE_EQ(*figures.accuracy, 1);
  EXPECT_FALSE(figures.f1.has_value());
  EXPECT_FALSE(figures.auc.has_value());
  EXPECT_FALSE(classification_figures({}, {}, 2).accuracy.has_value());
}

}  // namespace
}  // namespace plimsoll

#include "tasks/metrics/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/error.h"

namespace plimsoll {
namespace {

TEST(RocAuc, IsTheShareOfPairsInOrderTiesHalf) {
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> scores;
    std::vector<uint8_t> truth;
    for (int i = 0; i < 60; ++i) {
      truth.push_back(random() % 3 == 0);
      scores.push_back(static_cast<float>(random() % 10 + truth.back() * 2));
    }
    double in_order = 0;
    double pairs = 0;
    for (size_t a = 0; a < truth.size(); ++a)
      for (size_t b = 0; b < truth.size(); ++b)
        if (truth[a] == 1 && truth[b] == 0) {
          ++pairs;
          in_order += scores[a] > scores[b] ? 1 : scores[a] == scores[b] ? 0.5 : 0;
        }
    EXPECT_NEAR(roc_auc(scores, truth).value(), in_order / pairs, 1e-12);
  }
}

TEST(Metrics, OfAnAbsentClassAreUndefined) {
  EXPECT_EQ(roc_auc(std::vector<float>{1, 2}, std::vector<uint8_t>{0, 0}), std::nullopt);
  EXPECT_EQ(roc_auc(std::vector<float>{1, 2}, std::vector<uint8_t>{1, 1}), std::nullopt);
  ConfusionCounts benign_only;
  benign_only.add(false, true);
  EXPECT_EQ(benign_only.f1(), std::nullopt);
  EXPECT_EQ(benign_only.recall(), std::nullopt);
  EXPECT_EQ(benign_only.precision(), std::nullopt);
  EXPECT_EQ(benign_only.false_positive_rate(), 1.0);
  ConfusionCounts attacks_only;
  attacks_only.add(true, false);
  EXPECT_EQ(attacks_only.false_positive_rate(), std::nullopt);
  EXPECT_EQ(attacks_only.precision(), std::nullopt);
  EXPECT_EQ(attacks_only.f1(), 0.0);
  for (const ConfusionCounts& confusion : {benign_only, attacks_only, ConfusionCounts()}) {
    EXPECT_EQ(confusion.mcc(), std::nullopt);
    EXPECT_EQ(confusion.balanced_accuracy(), std::nullopt);
  }
}

TEST(Metrics, FollowTheirDefinitions) {
  ConfusionCounts confusion;
  confusion.true_positives = 6;
  confusion.false_positives = 2;
  confusion.true_negatives = 10;
  confusion.false_negatives = 3;
  EXPECT_DOUBLE_EQ(confusion.precision().value(), 0.75);
  EXPECT_DOUBLE_EQ(confusion.recall().value(), 6.0 / 9);
  EXPECT_DOUBLE_EQ(confusion.f1().value(), 12.0 / 17);
  EXPECT_DOUBLE_EQ(confusion.false_positive_rate().value(), 2.0 / 12);
  // scikit-learn 1.9.1: matthews_corrcoef, balanced_accuracy_score.
  EXPECT_DOUBLE_EQ(confusion.mcc().value(), 0.5095246653650681);
  EXPECT_DOUBLE_EQ(confusion.balanced_accuracy().value(), 0.75);
}

TEST(Metrics, OfVerdictsThatAreAllTheSame) {
  ConfusionCounts silent;
  silent.add(true, false);
  silent.add(false, false);
  EXPECT_EQ(silent.mcc(), 0);
  EXPECT_EQ(silent.balanced_accuracy(), 0.5);
  EXPECT_EQ(silent.precision(), std::nullopt);
}

}  // namespace
}  // namespace plimsoll

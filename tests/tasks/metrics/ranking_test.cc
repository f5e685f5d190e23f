#include "tasks/metrics/ranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace plimsoll {
namespace {

// Golden numbers: scikit-learn 1.9.1, roc_auc_score, average_precision_score, roc_curve and
// precision_recall_curve with drop_intermediate=False.
const std::vector<float> kScores = {3, 3, 1, 2, 5, 4, 4, 0, 2, 2, 6, 1};
const std::vector<uint8_t> kTruth = {1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0};

std::vector<double> xs(const std::vector<CurvePoint>& points) {
  std::vector<double> values;
  for (const CurvePoint& point : points) values.push_back(point.x);
  return values;
}
std::vector<double> ys(const std::vector<CurvePoint>& points) {
  std::vector<double> values;
  for (const CurvePoint& point : points) values.push_back(point.y);
  return values;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
}

TEST(Ranking, AreasAreThoseOfScikitLearnTiesIncluded) {
  const Ranking ranking(kScores, kTruth);
  EXPECT_DOUBLE_EQ(ranking.auc().value(), 0.8055555555555556);
  EXPECT_DOUBLE_EQ(ranking.average_precision().value(), 0.7916666666666666);
}

// A comparison with NaN is never true: one such score once caused an endless walk down the ranking.
TEST(Ranking, IsUndefinedWhereAScoreIsNoNumber) {
  std::vector<float> scores = kScores;
  scores[5] = std::numeric_limits<float>::quiet_NaN();
  const Ranking ranking(scores, kTruth);
  EXPECT_FALSE(ranking.auc());
  EXPECT_FALSE(ranking.average_precision());
  EXPECT_TRUE(ranking.roc(1e-3).empty());
  EXPECT_TRUE(ranking.precision_recall().empty());
  const ScoreHistogram histogram = ranking.histogram(4, {});
  EXPECT_EQ(std::accumulate(histogram.negatives.begin(), histogram.negatives.end(), int64_t{0}) +
                std::accumulate(histogram.positives.begin(), histogram.positives.end(), int64_t{0}),
            std::ssize(scores) - 1);
}

TEST(Ranking, CurvesAreThoseOfScikitLearnTiesIncluded) {
  const Ranking ranking(kScores, kTruth);
  const auto roc = ranking.roc(1e-4);
  expect_near(xs(roc), {0, 0, 0, 1.0 / 6, 2.0 / 6, 0.5, 5.0 / 6, 1});
  expect_near(ys(roc), {0, 1.0 / 6, 2.0 / 6, 0.5, 4.0 / 6, 1, 1, 1});
  const auto curve = ranking.precision_recall();
  expect_near(xs(curve), {1.0 / 6, 2.0 / 6, 0.5, 4.0 / 6, 1, 1, 1});
  expect_near(ys(curve), {1, 1, 0.75, 2.0 / 3, 2.0 / 3, 6.0 / 11, 0.5});
}

TEST(Ranking, OfOneClassOrOfNothingIsUndefined) {
  for (const Ranking& ranking : {Ranking(std::vector<float>{1, 2}, std::vector<uint8_t>{0, 0}),
                                 Ranking(std::vector<float>{1, 2}, std::vector<uint8_t>{1, 1}),
                                 Ranking(std::vector<float>{}, std::vector<uint8_t>{})}) {
    EXPECT_EQ(ranking.auc(), std::nullopt);
    EXPECT_EQ(ranking.average_precision(), std::nullopt);
    EXPECT_TRUE(ranking.roc(1e-4).empty());
    EXPECT_TRUE(ranking.precision_recall().empty());
  }
  EXPECT_TRUE(Ranking(std::vector<float>{}, std::vector<uint8_t>{}).histogram(10, {}).negatives.empty());
}

TEST(Ranking, CurvesOfManyScoresAreThinnedAndKeepTheirEnds) {
  std::mt19937 random(3);
  std::vector<float> scores;
  std::vector<uint8_t> truth;
  for (int i = 0; i < 50'000; ++i) {
    truth.push_back(random() % 4 == 0);
    scores.push_back(static_cast<float>(random() % 1'000'000) + static_cast<float>(truth.back()) * 4e5F);
  }
  const Ranking ranking(scores, truth);
  const auto roc = ranking.roc(1e-4);
  EXPECT_LT(roc.size(), 300U);
  EXPECT_GT(roc.size(), 100U);
  EXPECT_EQ(roc.front().x, 0);
  EXPECT_EQ(roc.back().x, 1);
  EXPECT_EQ(roc.back().y, 1);
  double area = 0;
  for (size_t i = 1; i < roc.size(); ++i) area += (roc[i].x - roc[i - 1].x) * (roc[i].y + roc[i - 1].y) / 2;
  EXPECT_NEAR(area, ranking.auc().value(), 1e-3);
  const auto curve = ranking.precision_recall();
  EXPECT_LT(curve.size(), 400U);
  EXPECT_EQ(curve.back().x, 1);
}

TEST(Ranking, AHistogramHoldsEveryScoreAndTheLevels) {
  std::vector<float> scores;
  std::vector<uint8_t> truth;
  for (int i = 0; i < 1000; ++i) {
    scores.push_back(static_cast<float>(i));
    truth.push_back(i >= 600);
  }
  scores.front() = -1e9F;
  const std::vector<float> levels = {1200};
  const ScoreHistogram histogram = Ranking(scores, truth).histogram(16, levels);
  EXPECT_EQ(std::accumulate(histogram.negatives.begin(), histogram.negatives.end(), int64_t{0}), 600);
  EXPECT_EQ(std::accumulate(histogram.positives.begin(), histogram.positives.end(), int64_t{0}), 400);
  EXPECT_EQ(histogram.low, 5);  // The outermost scores do not stretch the axis.
  EXPECT_EQ(histogram.high, 1200);
  const float infinite = std::numeric_limits<float>::infinity();
  const ScoreHistogram outer =
      Ranking(std::vector<float>{infinite, 3, 1, -infinite}, std::vector<uint8_t>{1, 1, 0, 0})
          .histogram(2, {});
  EXPECT_EQ(outer.low, 1);
  EXPECT_EQ(outer.high, 3);
  EXPECT_EQ(outer.negatives, (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(outer.positives, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(Ranking(std::vector<float>{infinite}, std::vector<uint8_t>{1}).histogram(2, {}).positives[1], 1);
  const ScoreHistogram flat = Ranking(std::vector<float>{2, 2}, std::vector<uint8_t>{0, 1}).histogram(4, {});
  EXPECT_EQ(flat.low, 2);
  EXPECT_EQ(flat.high, 3);
  EXPECT_EQ(flat.negatives[0] + flat.positives[0], 2);
}

}  // namespace
}  // namespace plimsoll

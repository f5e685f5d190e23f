#include "nn/recommendation.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "nn/average_precision.h"

namespace plimsoll {
namespace {

std::vector<float> best_of(std::vector<float> scores, int64_t k) {
  const at::Tensor row =
      at::from_blob(scores.data(), {1, static_cast<int64_t>(scores.size())}, at::kFloat).clone();
  const at::Tensor found = best_scores(row, k);
  return {found.const_data_ptr<float>(), found.const_data_ptr<float>() + found.numel()};
}

TEST(BestScores, AreInOrderAndOfEqualOnesTheFirstComesFirst) {
  EXPECT_EQ(best_of({1, 3, 2, 3, 0}, 3), (std::vector<float>{1, 3, 2, 3, 3, 2}));
  EXPECT_EQ(best_of({5, 5, 5}, 3), (std::vector<float>{0, 1, 2, 5, 5, 5}));
}

TEST(BestScores, EqualTheSortedScoresOfEachRow) {
  const at::Tensor scores = at::rand({7, 50}).mul_(20).floor_();
  const at::Tensor found = best_scores(scores, 9);
  const at::Tensor order = std::get<1>(scores.sort(/*stable=*/true, 1, /*descending=*/true));
  EXPECT_TRUE(found.narrow(1, 0, 9).equal(order.narrow(1, 0, 9).to(at::kFloat)));
  EXPECT_TRUE(found.narrow(1, 9, 9).equal(scores.gather(1, order.narrow(1, 0, 9))));
}

TEST(BestScores, ShowAScoreThatIsNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(best_of({4, nan, 9, 7}, 2)[2]));
  EXPECT_TRUE(std::isnan(best_of({nan}, 1)[1]));
}

// A list of 4 whose entries 0 and 2 are targets.
TEST(AveragePrecision, DividesByTheNumberOfTargetsButAtMostByTheLengthOfTheList) {
  const auto is_target = [](int64_t place) { return place == 0 || place == 2; };
  const double sum = 1 + 2.0 / 3;
  EXPECT_DOUBLE_EQ(average_precision(4, 2, is_target), sum / 2);
  EXPECT_DOUBLE_EQ(average_precision(4, 3, is_target), sum / 3);
  EXPECT_DOUBLE_EQ(average_precision(4, 90, is_target), sum / 4);
  EXPECT_DOUBLE_EQ(average_precision(4, 1, [](int64_t) { return false; }), 0);
}

}  // namespace
}  // namespace plimsoll

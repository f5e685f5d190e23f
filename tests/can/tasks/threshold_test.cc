#include "can/tasks/threshold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/error.h"

namespace plimsoll {
namespace {

TEST(Threshold, AllowsAtMostTheShareOfBenignScoresAboveIt) {
  std::mt19937 random(1);
  for (const double rate : {0.0, 0.001, 0.01, 0.5}) {
    for (const int n : {1, 5, 100, 1000, 2500}) {
      std::vector<float> scores;
      for (int i = 0; i < n; ++i) scores.push_back(static_cast<float>(random() % 200));
      const float level = threshold_at_rate(scores, rate);
      const auto above =
          std::count_if(scores.begin(), scores.end(), [&](float score) { return score > level; });
      EXPECT_LE(above, static_cast<int64_t>(rate * n));
      // No lower level works: with any lower score as the level, too many would be above it.
      const auto at_or_above =
          std::count_if(scores.begin(), scores.end(), [&](float score) { return score >= level; });
      EXPECT_GT(at_or_above, static_cast<int64_t>(rate * n));
    }
  }
  EXPECT_THROW(threshold_at_rate({}, 0.01), InputError);
}

}  // namespace
}  // namespace plimsoll

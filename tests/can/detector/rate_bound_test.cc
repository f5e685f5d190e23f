#include "can/detector/rate_bound.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll {
namespace {

// Expected values: scipy.stats.beta.ppf(0.95, events + 1, trials - events).
TEST(RateBound, IsThatOfClopperAndPearson) {
  EXPECT_NEAR(rate_bound(0, 200), 0.014867039231272054, 1e-12);
  EXPECT_NEAR(rate_bound(0, 20), 0.13910834066826516, 1e-12);
  EXPECT_NEAR(rate_bound(2, 1000), 0.006282284546723426, 1e-12);
  EXPECT_NEAR(rate_bound(30, 812), 0.049780144276635366, 1e-12);
  EXPECT_NEAR(rate_bound(1, 3000), 0.001580301827458731, 1e-12);
}

TEST(RateBound, OfNoneIsThatOfTheGreatestOfAsMany) {
  for (const int64_t trials : {1, 20, 3000, 10'000'000}) {
    const double bound = -std::expm1(std::log(0.05) / static_cast<double>(trials));
    EXPECT_NEAR(rate_bound(0, trials) / bound, 1, 1e-6) << trials;
  }
}

TEST(RateBound, OfAlwaysIsOne) {
  EXPECT_EQ(rate_bound(5, 5), 1);
  EXPECT_LT(rate_bound(999'999, 1'000'000), 1);
}

}  // namespace
}  // namespace plimsoll

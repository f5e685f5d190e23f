#include "can/live/latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace plimsoll {
namespace {

TEST(Latency, QuantilesAreThoseOfTheSortedNumbersToAFewPerCent) {
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> spans(10, 2);
  std::vector<int64_t> all(50'000);
  Latency latency;
  for (int64_t& ns : all) latency.add(ns = static_cast<int64_t>(spans(random)));
  std::ranges::sort(all);
  for (const double q : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(all.size()))) - 1;
    EXPECT_GE(latency.quantile(q), all[rank]);
    EXPECT_LE(static_cast<double>(latency.quantile(q)), 1.016 * static_cast<double>(all[rank]) + 1);
  }
  EXPECT_EQ(latency.quantile(1), all.back());
  EXPECT_EQ(latency.count(), 50'000);
}

TEST(Latency, CountsEverySpanFromNoneToTheGreatest) {
  Latency latency;
  EXPECT_EQ(latency.quantile(0.5), 0);
  latency.add(-5);  // If the clock was set back, a span is negative.
  EXPECT_EQ(latency.quantile(0.5), 0);
  for (int64_t ns = 1; ns > 0 && ns < std::numeric_limits<int64_t>::max() / 2; ns *= 2) latency.add(ns);
  latency.add(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(latency.quantile(1), std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace plimsoll

#include "can/profile/gap_bins.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace plimsoll {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Gap, IsNoneWhereTimeRunsBackAndNeverOverflows) {
  EXPECT_EQ(gap_ns(5, 3), 0U);
  EXPECT_EQ(gap_ns(-2, 3), 5U);
  EXPECT_EQ(gap_ns(kMin, kMax), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(gap_ns(kMax, kMin), 0U);
  EXPECT_EQ(bounded_gap_ns(-2, 3), 5);
  EXPECT_EQ(bounded_gap_ns(kMin, kMax), int64_t{1} << 62);
}

TEST(GapBins, KeepSixSignificantBits) {
  for (int64_t gap = GapBins::kShortest; gap < int64_t{1} << 41; gap += gap / 7 + 1) {
    const int drop = std::bit_width(static_cast<uint64_t>(gap)) - 6;
    EXPECT_EQ(GapBins::min_of(GapBins::bin_of(gap)), gap >> drop << drop) << gap;
    EXPECT_EQ(GapBins::min_of(GapBins::bin_of(gap) + 1), ((gap >> drop) + 1) << drop) << gap;
  }
}

TEST(GapBins, TakeAnySpan) {
  EXPECT_EQ(GapBins::gap_of(10, 10), 1000);
  EXPECT_EQ(GapBins::gap_of(kMax, kMin), 1000);
  EXPECT_EQ(GapBins::gap_of(7, 1008), 1001);
  EXPECT_EQ(GapBins::bin_of(GapBins::gap_of(kMin, kMax)), GapBins::kBins - 1);
  EXPECT_EQ(GapBins::min_of(GapBins::kBins), int64_t{1} << 41);
}

TEST(GapBins, FindTheSpanThatSoManyPrecede) {
  const std::vector<uint32_t> counts = {0, 2, 0, 1};
  EXPECT_EQ(GapBins::bin_at(counts, 0), 1U);
  EXPECT_EQ(GapBins::bin_at(counts, 1), 1U);
  EXPECT_EQ(GapBins::bin_at(counts, 2), 3U);
}

}  // namespace
}  // namespace plimsoll

#include "can/simulate/periodic_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "can/simulate/frame_source.h"
#include "support/made_frames.h"

namespace plimsoll {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

// Makes frames of one ID with these gaps between them, in ms.
std::vector<CanFrame> with_gaps(uint32_t can_id, const std::vector<int64_t>& gaps, uint8_t length = 8) {
  std::vector<CanFrame> frames = {{.time_ns = 1'600'000'000'000'000'000, .can_id = can_id, .length = length}};
  for (const int64_t gap : gaps) {
    frames.push_back(frames.back());
    frames.back().time_ns += gap * kMillisecond;
  }
  return frames;
}

// Makes `count` gaps that alternate between `a` and `b`.
std::vector<int64_t> in_turn(size_t count, int64_t a, int64_t b) {
  std::vector<int64_t> gaps(count);
  for (size_t i = 0; i < count; ++i) gaps[i] = i % 2 == 0 ? a : b;
  return gaps;
}

std::vector<PeriodicId> periodic(std::vector<CanFrame> frames) {
  MadeFrames source(std::move(frames));
  FrameBatch batch;
  read_frames(source, 1'000'000, batch);
  const auto ids = periodic_ids(batch.spans());
  return {ids.begin(), ids.end()};
}

TEST(PeriodicIds, HaveFiftyFrames) {
  EXPECT_TRUE(periodic(with_gaps(1, in_turn(48, 10, 10))).empty());
  EXPECT_EQ(periodic(with_gaps(1, in_turn(49, 10, 10))), (std::vector<PeriodicId>{{1, 50}}));
  EXPECT_TRUE(periodic({}).empty());
}

TEST(PeriodicIds, ComeFiveTimesASecondAtLeast) {
  EXPECT_EQ(periodic(with_gaps(1, in_turn(100, 200, 200))).size(), 1U);
  EXPECT_TRUE(periodic(with_gaps(1, in_turn(100, 200, 201))).empty());
  EXPECT_TRUE(periodic(with_gaps(1, in_turn(100, 0, 0))).empty());
}

TEST(PeriodicIds, HaveGapsThatDeviateByHalfAtMost) {
  EXPECT_EQ(periodic(with_gaps(1, in_turn(50, 50, 150))).size(), 1U);
  EXPECT_TRUE(periodic(with_gaps(1, in_turn(50, 49, 151))).empty());
  // There are 998 gaps of 10 ms and one of 1 s: the mean is 11 ms, the deviation 31 ms.
  auto gaps = in_turn(999, 10, 10);
  gaps[500] = 1'000;
  EXPECT_TRUE(periodic(with_gaps(1, gaps)).empty());
  gaps[500] = 100;
  EXPECT_EQ(periodic(with_gaps(1, gaps)).size(), 1U);
  // The square of the deviation in us^2 has more than 64 bits.
  gaps = in_turn(60'000, 10, 10);
  gaps[500] = 10'000'000;
  EXPECT_TRUE(periodic(with_gaps(1, gaps)).empty());
}

TEST(PeriodicIds, HavePayloadsAndAreDataFrames) {
  EXPECT_TRUE(periodic(with_gaps(1, in_turn(100, 10, 10), 0)).empty());
  EXPECT_TRUE(periodic(with_gaps(1 | kCanRemote, in_turn(100, 10, 10))).empty());
  EXPECT_TRUE(periodic(with_gaps(1 | kCanError, in_turn(100, 10, 10))).empty());
  EXPECT_EQ(periodic(with_gaps(1 | kCanExtended, in_turn(100, 10, 10))).size(), 1U);
}

TEST(PeriodicIds, AreFoundAmongOthersInTheOrderOfTheirFirstFrames) {
  auto frames = with_gaps(0x300, in_turn(200, 10, 10));
  for (const auto& more : {with_gaps(0x100, in_turn(60, 20, 20)), with_gaps(0x200, in_turn(60, 1, 199)),
                           with_gaps(7 | kCanExtended, in_turn(55, 30, 30))})
    frames.insert(frames.end(), more.begin(), more.end());
  std::stable_sort(frames.begin(), frames.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  EXPECT_EQ(periodic(frames), (std::vector<PeriodicId>{{0x300, 201}, {0x100, 61}, {7 | kCanExtended, 56}}));
}

TEST(PeriodicIds, AreFoundWhereTimesRunBack) {
  auto frames = with_gaps(1, in_turn(200, 10, 10));
  frames[100].time_ns -= 500 * kMillisecond;
  EXPECT_EQ(periodic(frames).size(), 1U);
}

}  // namespace
}  // namespace plimsoll

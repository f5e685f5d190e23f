#include "can/profile/benign_id.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/behaviour_test.h"

namespace plimsoll {
namespace {

// Powers of two, and numbers with five bits after the first, are edges of bins.
constexpr int64_t kGap = 1 << 23;
constexpr int64_t kBinOfGap = kGap >> 5;

BehaviourProfile::Id timing(const std::vector<Frame>& frames) {
  return learned_from(frames).id(0);
}

// Makes frames with these gaps, over and over.
std::vector<Frame> in_turn(const std::vector<int64_t>& gaps, int count) {
  std::vector<Frame> frames;
  int64_t time = 0;
  for (int i = 0; i < count; ++i) {
    frames.push_back({time, 16});
    time += gaps[static_cast<size_t>(i) % gaps.size()];
  }
  return frames;
}

// Makes frames whose payload is payload_of(number).
std::vector<Frame> with_payload(int count, const std::function<std::vector<uint8_t>(int)>& payload_of) {
  std::vector<Frame> frames = every(kGap, 16, count);
  for (int i = 0; i < count; ++i) frames[static_cast<size_t>(i)].payload = payload_of(i);
  return frames;
}

TEST(BenignTiming, IsExpectedFromTwentyFourPairsOfGapsOn) {
  EXPECT_EQ(timing(every(kGap, 16, 25)).min_two_gaps, 0);
  EXPECT_EQ(timing(every(kGap, 16, 25)).longest_gap, 0);
  EXPECT_EQ(timing(every(kGap, 16, 26)).min_two_gaps, 2 * kGap);
  EXPECT_EQ(timing(every(kGap, 16, 26)).longest_gap, kGap + kBinOfGap);
}

TEST(BenignTiming, IsExpectedUpToThreeHundredMilliseconds) {
  EXPECT_GT(timing(every(300 * kMs, 16, 40)).min_two_gaps, 580 * kMs);
  EXPECT_GT(timing(every(300 * kMs, 16, 40)).longest_gap, 300 * kMs);
  EXPECT_EQ(timing(every(300 * kMs + 1, 16, 40)).min_two_gaps, 0);
  EXPECT_EQ(timing(every(300 * kMs + 1, 16, 40)).longest_gap, 0);
}

TEST(BenignTiming, LeavesOneInAThousandSpansOut) {
  const auto one_early = [](int frames) {
    std::vector<Frame> all = every(kGap, 16, frames);
    all[500].time_ns -= kGap / 4;  // The two gaps that end here are short, and the gap after is long.
    return timing(all);
  };
  EXPECT_EQ(one_early(1001).min_two_gaps, 2 * kGap - kGap / 4);  // There are 999 pairs of gaps.
  EXPECT_EQ(one_early(1002).min_two_gaps, 2 * kGap);
  EXPECT_EQ(one_early(1000).longest_gap, kGap + kGap / 4 + kBinOfGap);  // There are 999 gaps.
  EXPECT_EQ(one_early(1001).longest_gap, kGap + kBinOfGap);
}

TEST(BenignTiming, OfTwoGapsIsAboveTwoFifthsOfTwoMeanGaps) {
  constexpr int64_t kShort = 1 << 20;
  EXPECT_EQ(timing(in_turn({kShort, kShort, 5 * kShort}, 90)).min_two_gaps, 2 * kShort);
  EXPECT_EQ(timing(in_turn({kShort, kShort, 6 * kShort}, 90)).min_two_gaps, 0);
}

TEST(BenignTiming, OfSilenceIsTwoMeanGapsAtMost) {
  constexpr int64_t kShort = 1 << 20;
  EXPECT_EQ(timing(in_turn({kShort, kShort, 7 * kShort / 2}, 91)).longest_gap, 57 * kShort / 16);
  EXPECT_EQ(timing(in_turn({kShort, kShort, 4 * kShort}, 91)).longest_gap, 0);
}

TEST(BenignTiming, IsNoneOfAClockThatStandsStill) {
  EXPECT_EQ(timing(every(0, 16, 100)).min_two_gaps, 0);
  EXPECT_EQ(timing(every(0, 16, 100)).longest_gap, 0);
  EXPECT_EQ(timing(every(-kGap, 16, 100)).min_two_gaps, 0);
}

TEST(BenignPayload, IsExpectedFromTwentyFourPairsOn) {
  const auto constant = [](int) { return std::vector<uint8_t>{1}; };
  EXPECT_FALSE(learned_from(with_payload(24, constant)).id(0).has_expectations);
  EXPECT_TRUE(learned_from(with_payload(25, constant)).id(0).has_expectations);
}

TEST(BenignPayload, HasBitsThatNeverChanged) {
  const auto id = learned_from(with_payload(40, [](int i) {
                    return std::vector<uint8_t>{static_cast<uint8_t>(i % 2), 0xA5};
                  })).id(0);
  EXPECT_EQ(id.fixed_bits, ~uint64_t{1});
  EXPECT_EQ(id.fixed_value, uint64_t{0xA500});
}

TEST(BenignPayload, HasAGreatestChangeOfEachByte) {
  const auto id = learned_from(with_payload(40, [](int i) {
                    return std::vector<uint8_t>{static_cast<uint8_t>(i % 3 * 20),
                                                static_cast<uint8_t>(i % 2 == 0 ? 250 : 5)};
                  })).id(0);
  EXPECT_EQ(id.max_change, (std::array<uint8_t, 8>{40, 245}));
}

TEST(BenignPayload, HasCountersOfBytesAndOfLowerNibbles) {
  const auto id = learned_from(with_payload(100, [](int i) {
                    return std::vector<uint8_t>{static_cast<uint8_t>(3 * i), 7,
                                                static_cast<uint8_t>((i * i % 7) << 4 | 9 * i % 16),
                                                static_cast<uint8_t>(-i), static_cast<uint8_t>(i * i)};
                  })).id(0);
  EXPECT_EQ(id.counter_mask, (std::array<uint8_t, 8>{0xFF, 0, 0x0F, 0xFF}));
  EXPECT_EQ(id.counter_step, (std::array<uint8_t, 8>{3, 0, 9, 255}));
}

TEST(BenignPayload, HasCountersThatCountNinetyNineTimesInAHundred) {
  const auto counts = [](int frames, int lost) {
    return learned_from(with_payload(frames,
                                     [&](int i) {
                                       return std::vector<uint8_t>{
                                           static_cast<uint8_t>(i + std::min(i / 20, lost))};
                                     }))
        .id(0)
        .counter_mask[0];
  };
  EXPECT_EQ(counts(201, 2), 0xFF);  // There are 200 steps.
  EXPECT_EQ(counts(201, 3), 0);
  EXPECT_EQ(counts(301, 3), 0xFF);
}

TEST(BenignPayload, HasNoCounterThatFindsItsStepLate) {
  // The first four of 200 steps are all different, so 196 are equal.
  const auto frames = with_payload(201, [](int i) {
    const int first[] = {0, 5, 12, 23};
    return std::vector<uint8_t>{static_cast<uint8_t>(i < 4 ? first[i] : 32 + i)};
  });
  EXPECT_EQ(learned_from(frames).id(0).counter_mask[0], 0);
}

TEST(BenignPayload, NeedsNoTimes) {
  Recording recording;
  recording.has_time = false;
  const auto frames = with_payload(40, [](int i) { return std::vector<uint8_t>{static_cast<uint8_t>(i)}; });
  const BehaviourProfile profile = learned_from(frames, recording);
  EXPECT_TRUE(profile.id(0).has_expectations);
  EXPECT_EQ(profile.id(0).counter_step[0], 1);
  EXPECT_FALSE(profile.id(0).has_gaps);
  EXPECT_TRUE(profile.expected().empty());
}

}  // namespace
}  // namespace plimsoll

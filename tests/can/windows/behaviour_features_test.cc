// Tests the columns of behaviour graphs that compare with what is expected of an ID, with values computed by
// hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "can/windows/behaviour_graph.h"
#include "support/behaviour_test.h"

namespace plimsoll {
namespace {

constexpr int64_t kGap = 1 << 23;                 // The edge of a bin; two gaps are an edge, too.
constexpr int64_t kLongest = kGap + (kGap >> 5);  // For gaps of this length.
constexpr double kDoubling = 1.0 / 8;

// ID 16 is sent every kGap with a counter, a byte that never changes, and one that goes up and down by 1.
std::vector<uint8_t> payload(int number) {
  return {static_cast<uint8_t>(number), 0x55, static_cast<uint8_t>(number % 2)};
}
std::vector<Frame> benign() {
  std::vector<Frame> frames = every(kGap, 16, 100);
  for (int i = 0; i < 100; ++i) frames[static_cast<size_t>(i)].payload = payload(i);
  return frames;
}

// Frames of ID 16 at these times, in units of kGap.
std::vector<Frame> at(const std::vector<double>& times) {
  std::vector<Frame> frames;
  for (const double time : times)
    frames.push_back({static_cast<int64_t>(time * kGap), 16, payload(static_cast<int>(frames.size()))});
  return frames;
}

class Expectations : public BehaviourTest {
 protected:
  // The value of a column for ID 16, the first node, in the graph of all frames from `first` on.
  double of(const std::string& column, const std::vector<Frame>& frames, int64_t first = 0) {
    const FrameBatch batch = batch_of(frames);
    const FrameSpans spans = batch.spans();
    GraphBlock block;
    block.clear();
    BehaviourGraph(spans).append({&recording_, first, spans.size() - first}, profile_, block);
    return node(block, 0, column);
  }

  BehaviourProfile profile_ = learned_from(benign());
  Recording recording_;
};

TEST_F(Expectations, AreMetByBenignFrames) {
  for (const char* column :
       {"early", "early_share", "surplus", "silence", "fixed_bits", "jumps", "counter_broken"})
    EXPECT_EQ(of(column, benign()), 0) << column;
}

TEST_F(Expectations, AreMetByTheFrameBehindALateOne) {
  EXPECT_EQ(of("early", at({0, 1, 2, 3.75, 4})), 0);
  EXPECT_GT(of("gap_max_deviation", at({0, 1, 2, 3.75, 4})), 0);
  EXPECT_LT(of("gap_min_deviation", at({0, 1, 2, 3.75, 4})), 0);
}

TEST_F(Expectations, AFrameBetweenTwoOthersIsOneDoublingEarly) {
  // Two gaps last 1.5 and then 1 instead of 2.
  EXPECT_FLOAT_EQ(of("early", at({0, 1, 2, 2.5, 3})), kDoubling);
  EXPECT_FLOAT_EQ(of("early_share", at({0, 1, 2, 2.5, 3})), 2.0 / 5);
  EXPECT_FLOAT_EQ(of("early", at({0, 1, 1.25, 1.5, 2})), 2 * kDoubling);
  EXPECT_FLOAT_EQ(of("early", at({0, 1, 1, 1, 2})), 1);  // At most eight doublings.
}

TEST_F(Expectations, AFrameIsPlainlyEarlyByAFifthOfTwoGaps) {
  const auto after = [](int64_t two) { return std::vector<Frame>{{0, 16}, {kGap, 16}, {two, 16}}; };
  // The time x satisfies x + x / 4 < 2^24.
  EXPECT_FLOAT_EQ(of("early_share", after(13'421'772)), 1.0 / 3);
  EXPECT_EQ(of("early_share", after(13'421'773)), 0);
  EXPECT_GT(of("early", after(13'421'773)), 0);
}

TEST_F(Expectations, TheLookBackHasPredecessors) {
  EXPECT_FLOAT_EQ(of("early", at({0, 1, 1.5}), 2), std::log2(2 / 1.5) / 8);
  EXPECT_EQ(of("early", at({0, 1, 1.5}), 3 - 1 - 1), of("early", at({0, 1, 1.5}), 2));
  EXPECT_EQ(of("early", at({0, 0.5})), 0);  // There is no second predecessor.
}

TEST_F(Expectations, SurplusIsWhatDoesNotFitIntoTheWindow) {
  EXPECT_EQ(of("surplus", at({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})), 0);
  EXPECT_FLOAT_EQ(of("surplus", at({0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 9, 10})), 5.0 / 16);
  EXPECT_FLOAT_EQ(of("surplus", at({0, 0.1, 0.2, 0.3, 0.4, 0.5})),
                  4.0 / 6);  // At most 1 + ceil(0.5) frames fit.
}

TEST_F(Expectations, SilenceLastsFromTheLastFrameToTheWindowsEnd) {
  const auto silent_for = [](int64_t ns) { return std::vector<Frame>{{0, 16}, {kGap, 16}, {kGap + ns, 32}}; };
  EXPECT_EQ(of("silence", silent_for(kLongest)), 0);
  EXPECT_GT(of("silence", silent_for(kLongest + 100)), 0);
  EXPECT_FLOAT_EQ(of("silence", silent_for(4 * kLongest)), 2 * kDoubling);
  EXPECT_FLOAT_EQ(of("silence", silent_for(1000 * kLongest)), 1);
  std::vector<Frame> runs_back = silent_for(4 * kLongest);
  runs_back.push_back({kGap, 32});
  EXPECT_FLOAT_EQ(of("silence", runs_back), 2 * kDoubling);
}

TEST_F(Expectations, FixedBitsCountByFrame) {
  std::vector<Frame> frames = at({0, 1, 2, 3});
  frames[1].payload[1] = 0x54;
  EXPECT_FLOAT_EQ(of("fixed_bits", frames), 0.25);
  frames[0].payload.push_back(0x80);  // The fourth byte was always 0.
  EXPECT_FLOAT_EQ(of("fixed_bits", frames), 0.5);
}

TEST_F(Expectations, JumpsCountByPair) {
  std::vector<Frame> frames = at({0, 1, 2, 3, 4});
  frames[2].payload[2] = 2;  // The byte changes from 1 and back to 1: by no more than ever.
  EXPECT_EQ(of("jumps", frames), 0);
  frames[2].payload[2] = 3;
  EXPECT_FLOAT_EQ(of("jumps", frames), 2.0 / 4);
  frames[0].payload[2] = 9;
  EXPECT_FLOAT_EQ(of("jumps", frames), 3.0 / 4);
}

TEST_F(Expectations, ACounterThatDoesNotCountIsBroken) {
  std::vector<Frame> frames = at({0, 1, 2, 3, 4});
  frames[2].payload[0] = 1;  // The steps are 0 and 2 instead of 1 and 1.
  EXPECT_FLOAT_EQ(of("counter_broken", frames), 2.0 / 4);
  frames = at({0, 1});
  frames[0].payload[0] = 255;
  frames[1].payload[0] = 0;
  EXPECT_EQ(of("counter_broken", frames), 0);
}

TEST_F(Expectations, AreNoneOfUnknownIds) {
  for (const char* column :
       {"early", "early_share", "surplus", "silence", "fixed_bits", "jumps", "counter_broken"}) {
    std::vector<Frame> frames = at({0, 0, 0, 0, 9});
    for (Frame& frame : frames) frame = {frame.time_ns, 99, {1, 2, 3}};
    EXPECT_EQ(of(column, frames), 0) << column;
  }
}

TEST_F(Expectations, OfTimeAreNoneWithoutTimes) {
  recording_.has_time = false;
  std::vector<Frame> frames = at({0, 0, 0, 0, 9});
  for (const char* column : {"early", "early_share", "surplus", "silence"})
    EXPECT_EQ(of(column, frames), 0) << column;
  frames[1].payload[1] = 0;
  EXPECT_GT(of("fixed_bits", frames), 0);
}

TEST_F(Expectations, OfPayloadAreNoneWithoutPayload) {
  recording_.has_payload = false;
  for (const char* column : {"fixed_bits", "jumps", "counter_broken"})
    EXPECT_EQ(of(column, every(kGap, 16, 5)), 0) << column;
}

TEST_F(Expectations, SurviveAWildClock) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  // The longest possible gap is not early, and a silence of that length is the longest.
  EXPECT_EQ(of("early", {{kMin, 16}, {0, 16}, {kMax, 16}}), 0);
  EXPECT_EQ(of("early_share", {{kMin, 16}, {0, 16}, {kMax, 16}}), 0);
  EXPECT_EQ(of("silence", {{kMin, 16}, {kMax, 32}}), 1);
  EXPECT_EQ(of("surplus", {{kMin, 16}, {kMax, 16}, {kMax, 16}}), 0);
  EXPECT_EQ(of("silence", {{9, 16}, {kMin, 32}}), 0);  // Time runs backwards.
}

TEST_F(Expectations, LookAtTheFirstEightBytesOfALongPayload) {
  constexpr int64_t kWidth = 64;
  std::vector<int64_t> time;
  std::vector<uint8_t> data(50 * kWidth, 0xEE);
  for (size_t i = 0; i < 50; ++i) {
    time.push_back(static_cast<int64_t>(i) * kGap);
    data[i * kWidth] = static_cast<uint8_t>(i);
    data[i * kWidth + 8] = static_cast<uint8_t>(i * i);
  }
  const std::vector<uint32_t> id(50, 16);
  const std::vector<uint8_t> length(50, 64);
  const std::vector<uint8_t> label(50, 0);
  const FrameSpans frames{time, id, length, data, label, kWidth};
  const FrameWindow run{&recording_, 0, 50};
  const BehaviourProfile profile = BehaviourProfile::learn(frames, {&run, 1});
  EXPECT_EQ(profile.id(0).length, 64);
  EXPECT_EQ(profile.id(0).counter_mask, (std::array<uint8_t, 8>{0xFF}));
  EXPECT_EQ(profile.id(0).fixed_value >> 8, 0xEEEEEEEEEEEEEE);
  data[49 * kWidth + 63] = 0;  // This byte is not read.
  data[49 * kWidth + 7] = 0;
  GraphBlock block;
  block.clear();
  BehaviourGraph(frames).append({&recording_, 40, 10}, profile, block);
  EXPECT_FLOAT_EQ(node(block, 0, "fixed_bits"), 0.1);
  EXPECT_FLOAT_EQ(node(block, 0, "jumps"), 0.1);
  EXPECT_EQ(node(block, 0, "counter_broken"), 0);
}

}  // namespace
}  // namespace plimsoll

#include "can/score/lone_signals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "support/behaviour_test.h"

namespace plimsoll {
namespace {

// Three IDs, each with a number that holds a value for at most four frames.
std::vector<Frame> drive(int frames, const std::function<void(int, uint32_t, int&)>& change = {}) {
  std::mt19937 random(8);
  std::vector<Frame> all;
  std::vector<int> values(3, 0);
  for (int k = 0; k < frames; ++k)
    for (uint32_t id = 0; id < 3; ++id) {
      if (k % 4 == 0)
        values[id] =
            1000 + static_cast<int>(400 * std::sin((k + 30 * id) / 50.0)) + static_cast<int>(random() % 8);
      int value = values[id];
      if (change) change(k, id, value);
      all.push_back(
          {(k * 3 + id) * kMs, 0x100 + id, {static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)}});
    }
  return all;
}

std::vector<LoneSignals::Worst> judged(const std::vector<Frame>& frames, const BehaviourProfile& profile,
                                       int64_t stride = 100, bool benign_only = false) {
  const FrameBatch batch = batch_of(frames);
  Recording recording;
  recording.frames = std::ssize(frames);
  LoneSignals lone;
  std::vector<LoneSignals::Worst> all;
  for (int64_t first = 0; first + 100 <= recording.frames; first += stride)
    all.push_back(lone.worst(batch.spans(), {&recording, first, 100}, profile, benign_only));
  return all;
}

class LoneSignalsTest : public testing::Test {
 protected:
  const BehaviourProfile profile_ = learned_from(drive(2000));
  int32_t longest() const {
    int32_t max = 0;
    for (const Signal& signal : profile_.signals().signals()) max = std::max(max, signal.longest_hold);
    return max;
  }
};

TEST_F(LoneSignalsTest, TheLongestBenignHoldIsKnown) {
  EXPECT_GE(longest(), 4);
  EXPECT_LE(longest(), 24);
  for (const Signal& signal : profile_.signals().signals()) EXPECT_LT(signal.min, signal.greatest);
}

TEST_F(LoneSignalsTest, OneSignalThatHoldsIsFoundByDoublings) {
  for (const auto& window : judged(drive(2000), profile_)) EXPECT_LE(window.held, 0.5);
  const auto frozen = drive(2000, [](int k, uint32_t id, int& value) {
    if (id == 1 && k >= 1000) value = 1003;
  });
  const auto found = judged(frozen, profile_);
  EXPECT_LE(found[25].held, 0.5);
  // At the end of window 59 the value has been held for 1,000 frames of its ID.
  EXPECT_NEAR(found[59].held, std::log2(1000.0 / longest()), 1.5);
  EXPECT_GT(found[40].held, 3);
}

TEST_F(LoneSignalsTest, ACarThatStopsHoldsThemAll) {
  const auto stopped = drive(2000, [](int k, uint32_t, int& value) {
    if (k >= 1000) value = 1003;
  });
  for (const auto& window : judged(stopped, profile_)) EXPECT_LE(window.held, 1);
}

TEST_F(LoneSignalsTest, TheLeastAndTheGreatestValueMayStand) {
  for (const int at : {600, 610, 1400}) {
    const auto frozen = drive(2000, [at](int k, uint32_t id, int& value) {
      if (id == 1 && k >= 1000) value = at;
    });
    for (const auto& window : judged(frozen, profile_)) EXPECT_LE(window.held, 1) << at;
  }
}

TEST_F(LoneSignalsTest, WindowsThatOverlapSayTheSame) {
  const auto frozen = drive(1200, [](int k, uint32_t id, int& value) {
    if (id == 1 && k >= 500) value = 1003;
  });
  const auto apart = judged(frozen, profile_);
  const auto over = judged(frozen, profile_, 50);
  for (size_t w = 0; w < apart.size(); ++w) {
    EXPECT_EQ(apart[w].held, over[2 * w].held);
    EXPECT_EQ(apart[w].restless, over[2 * w].restless);
  }
}

TEST_F(LoneSignalsTest, AnotherRecordingBeginsAnew) {
  const auto frozen = drive(1200, [](int k, uint32_t id, int& value) {
    if (id == 1 && k >= 200) value = 1003;
  });
  const FrameBatch batch = batch_of(frozen);
  Recording first;
  first.frames = 2400;
  Recording second;
  second.first_frame = 2400;
  second.frames = 1200;
  LoneSignals lone;
  EXPECT_GT(lone.worst(batch.spans(), {&first, 2300, 100}, profile_).held, 5);
  EXPECT_LT(lone.worst(batch.spans(), {&second, 2400, 100}, profile_).held, 3);
  EXPECT_GT(lone.worst(batch.spans(), {&first, 2300, 100}, profile_).held, 5);
}

// IDs 0 and 1 send as before; the other ID sends random values from its benign range.
std::vector<Frame> random_from(int first, int end, uint32_t last_id) {
  std::mt19937 random(4);
  return drive(2000, [&, first, end, last_id](int k, uint32_t id, int& value) {
    if (id <= last_id && k >= first && k < end) value = 600 + static_cast<int>(random() % 800);
  });
}

TEST_F(LoneSignalsTest, TheGreatestBenignMeanOfSurprisesIsKnown) {
  for (const Signal& signal : profile_.signals().signals()) {
    EXPECT_GT(signal.max_mean, 0);
    EXPECT_LT(signal.max_mean, signal.max);
  }
  const auto few = learned_from(drive(70));
  for (const Signal& signal : few.signals().signals()) EXPECT_LT(signal.max_mean, 0);
}

TEST_F(LoneSignalsTest, OneSignalThatStraysIsFoundWhileItDoes) {
  for (const auto& window : judged(drive(2000), profile_)) EXPECT_LE(window.restless, 0.3);
  const auto found = judged(random_from(1000, 1500, 0), profile_);
  for (size_t w = 0; w < found.size(); ++w) {
    if (w < 30 || w >= 46) {
      EXPECT_LE(found[w].restless, 0.5) << w;
    }
    if (w >= 31 && w < 45) {
      EXPECT_GT(found[w].restless, 0.5) << w;
    }
  }
}

TEST_F(LoneSignalsTest, ItEndsTwoFramesAfterTheAttack) {
  const auto frames = random_from(1000, 1500, 0);
  const FrameBatch batch = batch_of(frames);
  Recording recording;
  recording.frames = std::ssize(frames);
  LoneSignals lone;
  EXPECT_GT(lone.worst(batch.spans(), {&recording, 4400, 100}, profile_).restless, 0.5);
  // Two predictions are made from attacked values.
  EXPECT_LT(lone.worst(batch.spans(), {&recording, 4500, 12}, profile_).restless, 0.3);
}

TEST_F(LoneSignalsTest, WhatManyIdsDoIsTheCar) {
  for (const auto& window : judged(random_from(1000, 1500, 2), profile_)) EXPECT_LE(window.restless, 2);
}

TEST_F(LoneSignalsTest, AnIdThatFellSilentExcusesNoOtherForLong) {
  auto frames = random_from(100, 200, 0);
  std::erase_if(frames,
                [](const Frame& frame) { return frame.can_id == 0x100 && frame.time_ns >= 600 * kMs; });
  // The next signal departs more than a look-back later.
  std::mt19937 random(4);
  for (Frame& frame : frames)
    if (frame.can_id == 0x101 && frame.time_ns >= 4500 * kMs) {
      const int value = 600 + static_cast<int>(random() % 800);
      frame.payload = {static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)};
    }
  EXPECT_GT(judged(frames, profile_).back().restless, 0.5);
}

TEST_F(LoneSignalsTest, AttacksAreAsIfTheyWereNotThereInWindowsThatSetLevels) {
  auto frames = random_from(1000, 1500, 0);
  for (Frame& frame : frames) frame.label = frame.can_id == 0x100 && frame.time_ns >= 3000 * kMs ? 1 : 0;
  for (const auto& window : judged(frames, profile_, 100, true)) EXPECT_LE(window.restless, 0.5);
}

}  // namespace
}  // namespace plimsoll

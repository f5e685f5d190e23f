#include "windows/signal_holds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "support/behaviour_test.h"
#include "windows/frame_judges.h"

namespace plimsoll {
namespace {

// Three IDs with a number each that holds a value for four frames at most.
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

std::vector<float> held(const std::vector<Frame>& frames, const BehaviourProfile& profile,
                        int64_t stride = 100) {
  const FrameBatch batch = batch_of(frames);
  Recording recording;
  recording.frames = std::ssize(frames);
  SignalHolds holds;
  std::vector<float> all;
  for (int64_t first = 0; first + 100 <= recording.frames; first += stride)
    all.push_back(holds.worst(batch.spans(), {&recording, first, 100}, profile));
  return all;
}

class SignalHoldsTest : public testing::Test {
 protected:
  const BehaviourProfile profile_ = learned_from(drive(2000));
  int32_t longest() const {
    int32_t most = 0;
    for (const Signal& signal : profile_.signals().signals()) most = std::max(most, signal.longest_hold);
    return most;
  }
};

TEST_F(SignalHoldsTest, TheLongestBenignHoldIsKnown) {
  EXPECT_GE(longest(), 4);
  EXPECT_LE(longest(), 24);
  for (const Signal& signal : profile_.signals().signals()) EXPECT_LT(signal.least, signal.greatest);
}

TEST_F(SignalHoldsTest, OneSignalThatHoldsIsFoundByDoublings) {
  for (const float value : held(drive(2000), profile_)) EXPECT_LE(value, 0.5);
  const auto frozen = drive(2000, [](int k, uint32_t id, int& value) {
    if (id == 1 && k >= 1000) value = 1003;
  });
  const auto found = held(frozen, profile_);
  EXPECT_LE(found[25], 0.5);
  // At the end of window 59 the value has stood for 1,000 frames, of which a signal saw none but this one.
  EXPECT_NEAR(found[59], std::log2(1000.0 / longest()), 1.5);
  EXPECT_GT(found[40], 3);
}

TEST_F(SignalHoldsTest, ACarThatStopsHoldsThemAll) {
  const auto stopped = drive(2000, [](int k, uint32_t, int& value) {
    if (k >= 1000) value = 1003;
  });
  for (const float value : held(stopped, profile_)) EXPECT_LE(value, 1);
}

TEST_F(SignalHoldsTest, TheLeastAndTheGreatestValueMayStand) {
  for (const int at : {600, 610, 1400}) {
    const auto frozen = drive(2000, [at](int k, uint32_t id, int& value) {
      if (id == 1 && k >= 1000) value = at;
    });
    for (const float value : held(frozen, profile_)) EXPECT_LE(value, 1) << at;
  }
}

TEST_F(SignalHoldsTest, WindowsThatOverlapSayTheSame) {
  const auto frozen = drive(1200, [](int k, uint32_t id, int& value) {
    if (id == 1 && k >= 500) value = 1003;
  });
  const auto apart = held(frozen, profile_);
  const auto over = held(frozen, profile_, 50);
  for (size_t w = 0; w < apart.size(); ++w) EXPECT_EQ(apart[w], over[2 * w]);
}

TEST_F(SignalHoldsTest, AnotherRecordingBeginsAnew) {
  const auto frozen = drive(1200, [](int k, uint32_t id, int& value) {
    if (id == 1 && k >= 200) value = 1003;
  });
  const FrameBatch batch = batch_of(frozen);
  Recording first;
  first.frames = 2400;
  Recording second;
  second.first_frame = 2400;
  second.frames = 1200;
  SignalHolds holds;
  EXPECT_GT(holds.worst(batch.spans(), {&first, 2300, 100}, profile_), 5);
  EXPECT_LT(holds.worst(batch.spans(), {&second, 2400, 100}, profile_), 3);
  EXPECT_GT(holds.worst(batch.spans(), {&first, 2300, 100}, profile_), 5);
}

}  // namespace
}  // namespace plimsoll

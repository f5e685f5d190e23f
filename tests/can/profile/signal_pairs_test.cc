#include "can/profile/signal_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "support/behaviour_test.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

constexpr uint32_t kId = 0x6E0;
using Values = std::vector<int>;  // Four numbers of 16 bits, highest byte first.

// Makes wheel speeds that differ by at most `apart`, from a speed that rises and falls.
Values wheels(int k, std::mt19937& random, int apart = 6) {
  const double speed = 500 + 300 * std::sin(k / 60.0);
  Values all;
  for (int wheel = 0; wheel < 4; ++wheel)
    all.push_back(static_cast<int>(speed) + static_cast<int>(random() % static_cast<uint32_t>(apart + 1)));
  return all;
}

std::vector<Frame> drive(int frames, const std::function<void(int, Values&)>& change = {}) {
  std::mt19937 random(3);
  std::vector<Frame> all;
  for (int k = 0; k < frames; ++k) {
    Values values = wheels(k, random);
    if (change) change(k, values);
    std::vector<uint8_t> payload;
    for (const int value : values) {
      payload.push_back(static_cast<uint8_t>(value >> 8));
      payload.push_back(static_cast<uint8_t>(value));
    }
    all.push_back({k * 10 * kMs, kId, payload});
  }
  return all;
}

float apart(const std::vector<Frame>& frames, int first, int count, const BehaviourProfile& profile) {
  const FrameBatch batch = batch_of(frames);
  Recording recording;
  recording.frames = std::ssize(frames);
  return profile.pairs().worst(batch.spans(), {&recording, first, count}, profile.vocabulary());
}

TEST(SignalPairs, WheelsAreSixPairs) {
  const BehaviourProfile profile = learned_from(drive(2000));
  ASSERT_EQ(profile.pairs().pairs().size(), 6U);
  for (const SignalPair& pair : profile.pairs().pairs()) {
    EXPECT_EQ(pair.first % 16, 0);
    EXPECT_EQ(pair.second % 16, 0);
    EXPECT_EQ(pair.bits, 16);
    EXPECT_LE(std::abs(pair.middle), 1);
    EXPECT_NEAR(pair.max, 6, 1);
  }
}

TEST(SignalPairs, AreFoundApartByDoublingsOfTheGreatestDifference) {
  const BehaviourProfile profile = learned_from(drive(2000));
  const auto later = [&](int by) {
    return apart(drive(2100, [by](int k, Values& values) { values[2] += k == 2050 ? by : 0; }), 2000, 100,
                 profile);
  };
  EXPECT_LE(later(0), 0.2);
  EXPECT_NEAR(later(700), std::log2(700 / 7.0), 0.25);
  EXPECT_NEAR(later(-700), std::log2(700 / 7.0), 0.25);
  // A speed that was never driven makes no difference, because all wheels have it.
  const auto fast = drive(2100, [](int k, Values& values) {
    for (int& value : values) value += k >= 2000 ? 9000 : 0;
  });
  EXPECT_LE(apart(fast, 2000, 100, profile), 0.2);
}

TEST(SignalPairs, WhatAccumulatesBarelyMovesOrMovesOnItsOwnIsInNone) {
  const auto pairs = [](const std::function<void(int, Values&)>& change) {
    return learned_from(drive(2000, change)).pairs().pairs().size();
  };
  EXPECT_EQ(pairs([](int k, Values& values) { values[1] = k % 65536; }), 3U);
  EXPECT_EQ(pairs([](int k, Values& values) { values[1] = 500 + (k / 8) % 32; }), 3U);
  EXPECT_EQ(
      pairs([](int k, Values& values) { values[1] = 500 + static_cast<int>(300 * std::cos(k / 37.0)); }), 3U);
}

TEST(SignalPairs, AttacksDoNotTeach) {
  auto frames = drive(2000, [](int k, Values& values) { values[0] += k == 1000 ? 5000 : 0; });
  EXPECT_LT(learned_from(frames).pairs().pairs().size(), 6U);
  frames[1000].label = 1;
  EXPECT_EQ(learned_from(frames).pairs().pairs().size(), 6U);
}

TEST(SignalPairs, IsTheSameFromItsTensor) {
  const SignalPairs model = learned_from(drive(2000)).pairs();
  NamedTensors tensors = model.tensors();
  const SignalPairs again = SignalPairs::from_tensors(tensors, 1);
  ASSERT_EQ(again.pairs().size(), model.pairs().size());
  for (size_t p = 0; p < model.pairs().size(); ++p) {
    EXPECT_EQ(again.pairs()[p].second, model.pairs()[p].second);
    EXPECT_EQ(again.pairs()[p].middle, model.pairs()[p].middle);
    EXPECT_EQ(again.pairs()[p].max, model.pairs()[p].max);
  }
  EXPECT_TRUE(again.for_id(1).empty());
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{1, 0, 16, 16, 0, 1},
                                            {0, 49, 16, 16, 0, 1},
                                            {0, 0, -1, 16, 0, 1},
                                            {0, 0, 16, 0, 0, 1},
                                            {0, 0, 16, 32, 0, 1},
                                            {0, 0, 16, 16, 32768, 1},
                                            {0, 0, 16, 16, 0, -1}}) {
    tensors["profile.signal_pairs"] = own_tensor<int64_t>(wrong, {1, 6});
    const auto text = error_text<InputError>([&] { SignalPairs::from_tensors(tensors, 1); });
    EXPECT_THAT(text, testing::HasSubstr("in row 0; calibrate it again"));
  }
  EXPECT_TRUE(SignalPairs::from_tensors({}, 1).pairs().empty());
}

}  // namespace
}  // namespace plimsoll

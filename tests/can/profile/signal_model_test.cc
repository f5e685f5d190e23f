#include "can/profile/signal_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "can/score/signal_steps.h"
#include "support/behaviour_test.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

constexpr uint32_t kId = 0x100;

// Makes a drive of one ID whose eight-byte payload is payload(k).
template <typename Payload>
std::vector<Frame> drive(int frames, Payload payload) {
  std::vector<Frame> all;
  for (int k = 0; k < frames; ++k) all.push_back({k * 10 * kMs, kId, payload(k)});
  return all;
}

// Byte 0 never changes, byte 1 is a counter of 4 bits, and bytes 2 and 3 are a slow number of 12 bits.
std::vector<uint8_t> telling(int k) {
  const auto speed = static_cast<uint32_t>(2048 + 900 * std::sin(k / 25.0) + 3 * (k * 7919 % 5));
  return {0xA5,
          static_cast<uint8_t>(k % 16),
          static_cast<uint8_t>(speed >> 8),
          static_cast<uint8_t>(speed),
          0,
          0,
          0,
          0};
}

float steps_of(const std::vector<Frame>& frames, int first, int count, const BehaviourProfile& profile,
               bool benign_only = false) {
  const FrameBatch batch = batch_of(frames);
  Recording recording;
  recording.frames = std::ssize(frames);
  SignalSteps steps;
  return steps.worst(batch.spans(), {&recording, first, count}, profile, benign_only);
}

TEST(SignalModel, FindsFieldsByHowOftenTheirBitsFlip) {
  const BehaviourProfile profile = learned_from(drive(2000, telling));
  const auto signals = profile.signals().for_id(0);
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_EQ(signals[0].first_bit, 12);
  EXPECT_EQ(signals[0].bits, 4);
  EXPECT_GE(signals[1].first_bit, 20);
  EXPECT_EQ(signals[1].first_bit + signals[1].bits, 32);
}

TEST(SignalModel, ACounterIsPredictedToTheBitAcrossItsOverflow) {
  const BehaviourProfile profile = learned_from(drive(2000, telling));
  const Signal& counter = profile.signals().for_id(0)[0];
  EXPECT_NEAR(counter.max, 0, 1e-9);
  const auto at = [](uint64_t value) { return value << 48; };
  EXPECT_NEAR(counter.surprise(at(14), at(15), at(0)), 0, 1e-9);
  EXPECT_NEAR(counter.surprise(at(14), at(15), at(15)), 1, 1e-9);
}

TEST(Signal, ASurpriseIsTheIeeeRemainderOnItsRing) {
  std::mt19937_64 random(5);
  for (const int bits : {1, 4, 13, 32}) {
    const Signal signal{.first_bit = 8, .bits = static_cast<uint8_t>(bits), .slope = -1.7, .offset = 0.3};
    for (int i = 0; i < 1000; ++i) {
      const std::array<uint64_t, 3> payloads = {random(), random(), random()};
      const auto step = [&](size_t from) {
        return signal.step(signal.value(payloads[from]), signal.value(payloads[from + 1]));
      };
      EXPECT_EQ(
          signal.surprise(payloads[0], payloads[1], payloads[2]),
          std::abs(std::remainder(step(1) - (signal.slope * step(0) + signal.offset), std::exp2(bits))));
    }
  }
}

TEST(SignalModel, TheSlopeIsThatOfLeastSquares) {
  // Each step is half of the one before, in the other direction, except for one in six.
  const auto frames = drive(1000, [value = 3000.0, step = 0.0](int k) mutable {
    step = k % 6 == 0 ? 64.0 * (k / 6 % 2 == 0 ? 1 : -1) : -step / 2;
    value += step;
    const auto number = static_cast<uint32_t>(std::lround(value));
    return std::vector<uint8_t>{
        static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number), 0, 0, 0, 0, 0, 0};
  });
  const BehaviourProfile profile = learned_from(frames);
  ASSERT_FALSE(profile.signals().signals().empty());
  const Signal& signal = profile.signals().signals().back();
  // The oracle computes the same line from the payloads by the formula.
  std::vector<double> first;
  std::vector<double> second;
  for (size_t k = 2; k < frames.size(); ++k) {
    const auto value = [&](size_t at) { return signal.value(payload_bits(frames[at].payload.data())); };
    first.push_back(signal.step(value(k - 2), value(k - 1)));
    second.push_back(signal.step(value(k - 1), value(k)));
  }
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  double products = 0;
  double squares = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    products += (first[i] - mean(first)) * (second[i] - mean(second));
    squares += (first[i] - mean(first)) * (first[i] - mean(first));
  }
  EXPECT_NEAR(signal.slope, products / squares, 1e-9);
  EXPECT_NEAR(signal.offset, mean(second) - signal.slope * mean(first), 1e-9);
}

TEST(SignalModel, WhatRarelyChangesIsNoSignal) {
  const BehaviourProfile profile = learned_from(drive(
      400, [](int k) { return std::vector<uint8_t>{static_cast<uint8_t>(k > 300), 0, 0, 0, 0, 0, 0, 0}; }));
  EXPECT_TRUE(profile.signals().signals().empty());
}

TEST(SignalModel, FramesOfAttacksTeachNothing) {
  auto frames = drive(2000, telling);
  const BehaviourProfile benign = learned_from(frames);
  auto attacked = frames;
  for (int k = 1999; k > 0; k -= 100)
    attacked.insert(attacked.begin() + k, {k * 10 * kMs, kId, {1, 2, 3, 4, 5, 6, 7, 8}, 1});
  const BehaviourProfile profile = learned_from(attacked);
  ASSERT_EQ(profile.signals().signals().size(), benign.signals().signals().size());
  for (size_t s = 0; s < profile.signals().signals().size(); ++s)
    EXPECT_EQ(profile.signals().signals()[s].max, benign.signals().signals()[s].max);
}

TEST(SignalSteps, BenignTrafficIsAtZeroAndAForeignValueFarAbove) {
  auto frames = drive(3000, telling);
  const BehaviourProfile profile = learned_from({frames.begin(), frames.begin() + 2000});
  EXPECT_LT(steps_of(frames, 2500, 100, profile), 1);
  frames[2550].payload[2] ^= 0x08;  // The number jumps by half of its range, and back.
  EXPECT_GT(steps_of(frames, 2500, 100, profile), 4);
  EXPECT_GT(steps_of(frames, 2551, 100, profile), 4) << "the way back lies in the next window";
  EXPECT_LT(steps_of(frames, 2553, 100, profile), 1);
}

TEST(SignalSteps, AttacksAreAsIfTheyWereNotThereInWindowsThatSetLevels) {
  auto frames = drive(3000, telling);
  const BehaviourProfile profile = learned_from({frames.begin(), frames.begin() + 2000});
  const float expected = steps_of(frames, 2500, 99, profile);
  frames.insert(frames.begin() + 2499, {2499 * 10 * kMs, kId, {1, 2, 3, 4, 5, 6, 7, 8}, 1});
  EXPECT_GT(steps_of(frames, 2501, 99, profile), 4);
  EXPECT_EQ(steps_of(frames, 2501, 99, profile, true), expected);
}

TEST(SignalSteps, AWindowDependsOnTheLookBackAlone) {
  const auto frames = drive(5000, telling);
  const BehaviourProfile profile = learned_from({frames.begin(), frames.begin() + 2000});
  const std::vector<Frame> tail(frames.begin() + 2000, frames.end());
  EXPECT_EQ(steps_of(frames, 4500, 100, profile), steps_of(tail, 2500, 100, profile));
}

TEST(SignalSteps, WindowsBeforeAnotherChangeNothingInIt) {
  const BehaviourProfile profile = learned_from(drive(2000, telling));
  // Frames of the ID are so rare that the look-back contains one, two or three of them.
  std::vector<Frame> frames(12'000, Frame{0, 0x50, {1}});
  int at = 0;
  for (int k = 1; at < std::ssize(frames); ++k) {
    frames[static_cast<size_t>(at)] = {0, kId, telling(k * k * 37)};
    at += 1 + k * 7919 % 1500;
  }
  const FrameBatch batch = batch_of(frames);
  Recording recording;
  recording.frames = std::ssize(frames);
  int found = 0;
  for (const int stride : {10, 100, 350, 2500}) {
    SignalSteps goes_on;
    const auto worst = [&](int first) {
      return goes_on.worst(batch.spans(), {&recording, first, 100}, profile);
    };
    for (int first = 0; first + 100 <= std::ssize(frames); first += stride) {
      const float alone = steps_of(frames, first, 100, profile);
      EXPECT_EQ(worst(first), alone) << stride << " " << first;
      found += alone > 0;
    }
    EXPECT_EQ(worst(1000), steps_of(frames, 1000, 100, profile)) << "and back";
  }
  EXPECT_GT(found, 10);
}

TEST(SignalModel, IsTheSameFromItsTensors) {
  const BehaviourProfile profile = learned_from(drive(2000, telling));
  const auto again = BehaviourProfile::from_tensors(profile.tensors());
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ(again->signals().signals().size(), profile.signals().signals().size());
  for (size_t s = 0; s < profile.signals().signals().size(); ++s) {
    EXPECT_EQ(again->signals().signals()[s].first_bit, profile.signals().signals()[s].first_bit);
    EXPECT_EQ(again->signals().signals()[s].slope, profile.signals().signals()[s].slope);
    EXPECT_EQ(again->signals().signals()[s].max, profile.signals().signals()[s].max);
    EXPECT_EQ(again->signals().signals()[s].longest_hold, profile.signals().signals()[s].longest_hold);
    EXPECT_EQ(again->signals().signals()[s].max_mean, profile.signals().signals()[s].max_mean);
  }
}

TEST(SignalModel, OfAnEarlierVersionKnowsNoHoldsAndMeans) {
  NamedTensors tensors = learned_from(drive(2000, telling)).tensors();
  tensors.erase("profile.signal_holds");
  tensors.erase("profile.signal_means");
  const auto profile = BehaviourProfile::from_tensors(tensors);
  ASSERT_TRUE(profile.has_value());
  for (const Signal& signal : profile->signals().signals()) {
    EXPECT_EQ(signal.longest_hold, 0);
    EXPECT_LT(signal.max_mean, 0);
  }
}

TEST(SignalModel, ADamagedTensorIsRefused) {
  const BehaviourProfile profile = learned_from(drive(2000, telling));
  const std::vector<std::array<int64_t, 3>> impossible = {
      {7, 12, 4}, {-1, 12, 4}, {0, 62, 4}, {0, 12, 0}, {0, 12, 25}};
  for (const auto& place : impossible) {
    NamedTensors tensors = profile.tensors();
    const auto count = tensors.at("profile.signal_place").shape[0];
    std::vector<int64_t> places;
    for (int64_t s = 0; s < count; ++s) places.insert(places.end(), place.begin(), place.end());
    tensors["profile.signal_place"] = own_tensor<int64_t>(places, {count, 3});
    EXPECT_THROW(BehaviourProfile::from_tensors(tensors), InputError)
        << place[0] << " " << place[1] << " " << place[2];
  }
}

TEST(SignalModel, DamagedHoldsAndMeansAreRefused) {
  const BehaviourProfile profile = learned_from(drive(2000, telling));
  const auto count = profile.tensors().at("profile.signal_place").shape[0];
  for (const std::array<int64_t, 3>& hold :
       {std::array<int64_t, 3>{-1, 0, 9}, {int64_t{1} << 31, 0, 9}, {3, 9, 8}, {3, -1, 9}, {3, 0, 1 << 24}}) {
    NamedTensors tensors = profile.tensors();
    std::vector<int64_t> holds;
    for (int64_t s = 0; s < count; ++s) holds.insert(holds.end(), hold.begin(), hold.end());
    tensors["profile.signal_holds"] = own_tensor<int64_t>(holds, {count, 3});
    EXPECT_THROW(BehaviourProfile::from_tensors(tensors), InputError) << hold[0] << " " << hold[1];
  }
  NamedTensors tensors = profile.tensors();
  const std::vector<double> means(static_cast<size_t>(count), std::nan(""));
  tensors["profile.signal_means"] = own_tensor<double>(means, {count});
  EXPECT_THROW(BehaviourProfile::from_tensors(tensors), InputError);
}

}  // namespace
}  // namespace plimsoll

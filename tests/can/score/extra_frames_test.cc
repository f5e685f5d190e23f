#include "can/score/extra_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/behaviour_test.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

constexpr uint32_t kId = 0x100;
constexpr int64_t kPeriod = 10 * kMs;

// Frame k is late by up to 1 ms.
int64_t on_time(int k) {
  return k * kPeriod + k * 7919 % 11 * kMs / 10;
}

std::vector<Frame> drive(int frames) {
  std::vector<Frame> all;
  for (int k = 0; k < frames; ++k) all.push_back({on_time(k), kId, {1, 2, 3, 4, 5, 6, 7, 8}});
  return all;
}

const BehaviourProfile& profile() {
  static const BehaviourProfile kProfile = learned_from(drive(1000));
  return kProfile;
}

float extra_of(const std::vector<Frame>& frames, int first, int count, const BehaviourProfile& of = profile(),
               bool benign_only = false) {
  const FrameBatch batch = batch_of(frames);
  Recording recording;
  recording.frames = std::ssize(frames);
  ExtraFrames extra;
  return extra.worst(batch.spans(), {&recording, first, count}, of, benign_only);
}

// Adds a frame after frame `k`, at this share of the period.
std::vector<Frame> added(std::vector<Frame> frames, int k, double phase, std::vector<uint8_t> payload,
                         uint8_t label = 1) {
  const auto time = on_time(k) + static_cast<int64_t>(phase * static_cast<double>(kPeriod));
  frames.insert(frames.begin() + k + 1, {time, kId, std::move(payload), label});
  return frames;
}

const std::vector<uint8_t> kSame = {1, 2, 3, 4, 5, 6, 7, 8};
const std::vector<uint8_t> kOther = {1, 2, 3, 4, 5, 6, 0xF0, 0x0F};

TEST(ArrivalModel, ABoundIsTheLeastSpanAndItsMarginReachesFromTheSecondLeastOfEightParts) {
  auto frames = drive(800);
  for (size_t k = 450; k < frames.size(); ++k)
    frames[k].time_ns -= 4 * kMs;  // This makes one gap of about 6 ms.
  const int64_t min = frames[450].time_ns - frames[449].time_ns;
  const Arrival steady = learned_from(drive(800)).arrivals().for_id(0);
  const Arrival jumped = learned_from(frames).arrivals().for_id(0);
  EXPECT_EQ(steady.one.margin, ArrivalModel::kMinMargin) << "a clockwork";
  EXPECT_EQ(jumped.one.min_ns, min);
  EXPECT_NEAR(jumped.one.margin, std::log2(static_cast<double>(steady.one.min_ns) / static_cast<double>(min)),
              1e-12);
  EXPECT_EQ(jumped.eight.min_ns, 0) << "a regular ID has no bound of bursts";
}

TEST(ExtraFrames, NoFrameThatWasLearnedFromIsOne) {
  auto frames = drive(1000);
  for (size_t k = 450; k < frames.size(); ++k) frames[k].time_ns -= 9 * kMs;
  EXPECT_LE(extra_of(frames, 0, 1000, learned_from(frames)), 1);
}

TEST(ExtraFrames, AnAddedFrameIsFoundAtAnyPhaseAndInItsWindowAlone) {
  for (const double phase : {0.0, 0.1, 0.3, 0.5, 0.7, 0.9}) {
    const auto frames = added(drive(300), 150, phase, kSame);
    EXPECT_GT(extra_of(frames, 151, 1), 1) << phase << ": whether it shows it or the real one after it";
    EXPECT_LE(extra_of(frames, 100, 51), 1) << phase;
    EXPECT_LE(extra_of(frames, 152, 100), 1) << phase << ": the frames after it are on time";
  }
}

// The real frame, which reveals the added one, is the first of the next window.
TEST(ExtraFrames, AnAddedFrameThatTheNextWindowShowsIsOfItsOwn) {
  std::vector<Frame> frames = added(drive(300), 150, 0.9, kSame);
  EXPECT_GT(extra_of(frames, 100, 52), 1);
  EXPECT_LE(extra_of(frames, 152, 100), 1);
  const std::vector<Frame> others(ExtraFrames::kLookAhead, {on_time(150) + 9 * kMs, 0x7, {}});
  frames.insert(frames.begin() + 152, others.begin(), others.end());
  EXPECT_LE(extra_of(frames, 100, 52), 1) << "it is shown when that window had its verdict";
  EXPECT_GT(extra_of(frames, 152, 101), 1) << "then it counts where it is shown";
}

// The attacker's frames come shortly before the real frames, which therefore come too soon after the
// attacker's.
TEST(ExtraFrames, AnAttackersRhythmIsNotFollowed) {
  const auto steadily = [](int frames) {
    auto all = drive(frames);
    for (int k = 0; k < frames; ++k)
      all[static_cast<size_t>(k)].time_ns = k * kPeriod + k * 7919 % 11 * kMs / 100;
    return all;
  };
  const BehaviourProfile steady = learned_from(steadily(1000));
  std::vector<Frame> frames = steadily(300);
  // The added frames come 8.2 ms to 9.4 ms after the real ones.
  for (int k = 112; k >= 100; --k)
    frames.insert(frames.begin() + k + 1, {k * kPeriod + kPeriod * (k - 18) / 100, kId, kSame, 1});
  for (int f = 90; f < 140; ++f)
    EXPECT_EQ(extra_of(frames, f, 1, steady) > 1, frames[static_cast<size_t>(f)].label == 1) << f;
}

// For an ID that was never late before, the minimum margin of 0.3 doublings is a fifth of the period; the gap
// after a late frame may be shorter.
TEST(ExtraFrames, AFrameThatWasLateIsFollowedByOneOnTime) {
  for (const int64_t late : {3 * kMs / 2, 3 * kMs}) {
    auto frames = drive(300);
    frames[150].time_ns += late;
    EXPECT_LE(extra_of(frames, 100, 100), 1) << late;
  }
}

TEST(ExtraFrames, OneThatSendsAtOnceWhenASwitchChangesIsNone) {
  const std::vector<uint8_t> on = {1, 2, 3, 4, 5, 6, 7, 9};  // One bit is cleared, another one is set.
  auto frames = added(drive(300), 150, 0.3, on);
  for (size_t k = 152; k < frames.size(); ++k) frames[k].payload = on;
  EXPECT_LE(extra_of(frames, 100, 100), 1) << "it stays";
  EXPECT_GT(extra_of(added(drive(300), 150, 0.3, on), 100, 100), 1) << "taken back";
  EXPECT_GT(extra_of(added(drive(300), 150, 0.3, kOther), 151, 1), 1) << "more than a switch";
}

TEST(ExtraFrames, ABurstOfAnIdThatHardlySendsIsFound) {
  auto frames = drive(1000);
  frames.insert(frames.begin() + 500, {on_time(500) - 1, 0x7, {}});
  const BehaviourProfile seldom = learned_from(frames);
  EXPECT_LE(extra_of(frames, 0, 1001, seldom), 1);
  std::vector<Frame> flooded = drive(300);
  for (int k = 0; k < 20; ++k)
    flooded.insert(flooded.begin() + 151 + k, {on_time(150) + k * kMs / 4, 0x7, {}, 1});
  EXPECT_GT(extra_of(flooded, 100, 100, seldom), 1);
  std::vector<Frame> some = drive(300);
  for (int k = 0; k < 5; ++k) some.insert(some.begin() + 151 + k, {on_time(150) + k * kMs / 4, 0x7, {}});
  EXPECT_LE(extra_of(some, 100, 100, seldom), 1) << "an event and its repeats";
}

TEST(ExtraFrames, FramesOfAttacksDoNotCountInCalibration) {
  const auto frames = added(drive(1000), 500, 0.3, kOther);
  EXPECT_EQ(learned_from(frames).arrivals().for_id(0).one.min_ns, profile().arrivals().for_id(0).one.min_ns);
  EXPECT_GT(extra_of(frames, 450, 100), 1);
  EXPECT_LE(extra_of(frames, 450, 100, profile(), true), 1);
}

TEST(ExtraFrames, AClockThatRunsBackDoesNotSilenceAnId) {
  auto frames = drive(400);
  for (size_t k = 200; k < frames.size(); ++k) frames[k].time_ns -= 100 * kPeriod;
  EXPECT_LE(extra_of(frames, 203, 150), 1);
}

TEST(ExtraFrames, AnAttackerWhoGoesOnDoesNotBecomeTheSender) {
  auto frames = drive(6000);
  for (int k = 5900; k >= 1000; --k)  // A frame is inserted between any two.
    frames.insert(frames.begin() + k + 1, {on_time(k) + kPeriod / 2, kId, kOther, 1});
  ExtraFrames extra;
  const FrameBatch batch = batch_of(frames);
  Recording recording;
  recording.frames = std::ssize(frames);
  for (int f = 0; f < static_cast<int>(frames.size()); ++f)
    EXPECT_EQ(extra.worst(batch.spans(), {&recording, f, 1}, profile()) > 1,
              frames[static_cast<size_t>(f)].label == 1)
        << f;
}

TEST(ExtraFrames, WindowsThatOverlapOrComeAgainSayTheSame) {
  auto frames = drive(900);
  for (const int k : {610, 655, 700, 701, 702}) frames = added(frames, k, 0.4, kOther);
  const FrameBatch batch = batch_of(frames);
  Recording recording;
  recording.frames = std::ssize(frames);
  ExtraFrames extra;
  for (const int round : {0, 1})
    for (int first = 10; first + 50 <= 900; first += 20)
      EXPECT_EQ(extra.worst(batch.spans(), {&recording, first, 50}, profile()), extra_of(frames, first, 50))
          << round << " " << first;
  // A stream passes frames without those that no window needs any more.
  for (int first = 10; first + 50 <= 900; first += 50) {
    const std::vector<Frame> held(frames.begin() + std::max(0, first - 30), frames.end());
    const FrameBatch there = batch_of(held);
    if (first == 10) extra.reset();
    EXPECT_EQ(extra.worst(there.spans(), {&recording, std::min(first, 30), 50}, profile(), false,
                          std::max(0, first - 30)),
              extra_of(frames, first, 50))
        << first;
  }
}

TEST(ArrivalModel, IsTheSameFromItsTensorsAndADamagedOneIsRefused) {
  NamedTensors tensors = profile().tensors();
  const auto again = BehaviourProfile::from_tensors(tensors);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->arrivals().for_id(0).one.min_ns, profile().arrivals().for_id(0).one.min_ns);
  EXPECT_EQ(again->arrivals().for_id(0).two.margin, profile().arrivals().for_id(0).two.margin);
  EXPECT_EQ(again->arrivals().for_id(0).still, true);
  tensors["profile.arrival_margin"] = own_tensor<double>(std::vector<double>{0, 0.5, 4}, {1, 3});
  EXPECT_THROW(BehaviourProfile::from_tensors(tensors), InputError);
  tensors["profile.arrival_margin"] = own_tensor<double>(std::vector<double>{0.5, NAN, 4}, {1, 3});
  EXPECT_THROW(BehaviourProfile::from_tensors(tensors), InputError);
  tensors["profile.arrival_margin"] = own_tensor<double>(std::vector<double>{0.5, 0.5, 4}, {1, 3});
  tensors["profile.arrival_ns"] = own_tensor<int64_t>(std::vector<int64_t>{-1, 2, 3, 0}, {1, 4});
  EXPECT_THROW(BehaviourProfile::from_tensors(tensors), InputError);
}

TEST(ArrivalModel, AFileOfAnEarlierVersionHasNone) {
  NamedTensors tensors = profile().tensors();
  tensors.erase("profile.arrival_ns");
  tensors.erase("profile.arrival_margin");
  const auto again = BehaviourProfile::from_tensors(tensors);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(extra_of(added(drive(300), 150, 0.5, kOther), 100, 100, *again), 0);
}

}  // namespace
}  // namespace plimsoll

#include "can/live/silence_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>

#include "can/live/wait_for_input.h"
#include "support/behaviour_test.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

constexpr int64_t kSecond = 1000 * kMs;
constexpr int64_t kTick = 100 * kMs;

// Rounds of `ids` IDs, each sent every 20 ms. If `ids` is 4, at most 6 ms pass without a frame.
std::vector<Frame> rounds(int count, int64_t start = 0, int ids = 4) {
  std::vector<Frame> frames;
  for (int k = 0; k < count; ++k)
    for (int i = 0; i < ids; ++i)
      frames.push_back({start + k * 20 * kMs + i * 5 * kMs, static_cast<uint32_t>(0x100 + i), {1}});
  return frames;
}

// Feeds frames one by one and collects the reported silences and their times.
struct Reported {
  std::vector<Silence> silences;
  std::vector<int64_t> before;  // Number of frames before each silence.
};

Reported report_all(SilenceWatch& watch, const std::vector<Frame>& all) {
  Reported result;
  const FrameBatch batch = batch_of(all);
  FrameSpans frames = batch.spans();
  while (frames.size() > 0) {
    const int64_t taken = watch.add(frames, {});
    frames = frames.part(taken, frames.size() - taken);
    if (frames.size() == 0) break;
    const auto silence = watch.until(frames.time_ns.front());
    if (!silence) {
      ADD_FAILURE() << "stopped at frame " << taken << " for nothing";
      break;
    }
    result.silences.push_back(*silence);
    result.before.push_back(std::ssize(all) - frames.size());
  }
  return result;
}

SilenceWatch watch_of(const std::vector<Frame>& benign, int64_t tick_ns = kTick, float threshold = 1) {
  const BehaviourProfile profile = learned_from(benign);
  return {profile.silence(), profile.vocabulary(), tick_ns, threshold};
}

TEST(BusSilence, IsTheLongestPauseAwakeAndWhatIsHeardBeforeASleep) {
  EXPECT_EQ(learned_from(rounds(50)).silence().longest_ns, 5 * kMs);
  EXPECT_EQ(learned_from(rounds(50)).silence().ids_before_sleep, -1);
  auto sleeps = rounds(50);
  // A pause of 1.01 s follows frames of all four IDs, and another pause follows frames of a single ID.
  for (const Frame& frame : rounds(60, 2 * kSecond, 1)) sleeps.push_back(frame);
  for (const Frame& frame : rounds(50, 300 * kSecond)) sleeps.push_back(frame);
  EXPECT_EQ(learned_from(sleeps).silence().ids_before_sleep, 4);
  EXPECT_EQ(learned_from(sleeps).silence().longest_ns, 20 * kMs) << "a single ID every 20 ms";
  BusSilence all = learned_from(rounds(50)).silence();
  all.add(learned_from(sleeps).silence());
  EXPECT_EQ(all.longest_ns, 20 * kMs);
  EXPECT_EQ(all.ids_before_sleep, 4);
  EXPECT_EQ(BusSilence::from_tensors(all.tensors()).longest_ns, all.longest_ns);
  EXPECT_EQ(BusSilence::from_tensors({}).longest_ns, 0);
  NamedTensors damaged = all.tensors();
  reinterpret_cast<int64_t*>(damaged.begin()->second.data.data())[0] = -1;
  EXPECT_NE(error_text<InputError>([&] { BusSilence::from_tensors(damaged); }).find("profile.silence"),
            std::string::npos);
}

TEST(SilenceWatch, ReportsABusThatFallsSilentOnceAtTheFirstTick) {
  SilenceWatch watch = watch_of(rounds(50));
  auto frames = rounds(50);
  const int64_t last = frames.back().time_ns;
  for (const Frame& frame : rounds(10, last + 350 * kMs)) frames.push_back(frame);
  const Reported found = report_all(watch, frames);
  ASSERT_EQ(found.silences.size(), 1U);
  EXPECT_THAT(found.before, testing::ElementsAre(200));
  EXPECT_EQ(found.silences[0].since_ns, last);
  EXPECT_EQ(found.silences[0].time_ns, last + kTick);
  EXPECT_FLOAT_EQ(found.silences[0].score, static_cast<float>(std::log2(100.0 / 5)));
}

TEST(SilenceWatch, ATickIsNoSilenceUnlessItIsLongerThanTwiceTheLongest) {
  SilenceWatch watch = watch_of(rounds(50));
  auto frames = rounds(1);
  for (int k = 1; k < 20; ++k) frames.push_back({frames.back().time_ns + kTick, 0x100, {1}});
  EXPECT_TRUE(report_all(watch, frames).silences.empty()) << "a frame that comes in time";
  frames.push_back({frames.back().time_ns + kTick + 1, 0x100, {1}});
  SilenceWatch again = watch_of(rounds(50));
  EXPECT_EQ(report_all(again, frames).silences.size(), 1U);
  // In steps of 3 ms, 12 ms is the first time that exceeds twice 5 ms.
  SilenceWatch fine = watch_of(rounds(50), 3 * kMs);
  const auto silence = report_all(fine, {{0, 0x100, {1}}, {kSecond, 0x100, {1}}}).silences;
  ASSERT_EQ(silence.size(), 1U);
  EXPECT_EQ(silence[0].time_ns, 12 * kMs);
  // The threshold is higher.
  SilenceWatch lenient = watch_of(rounds(50), kTick, 6);
  const auto later = report_all(lenient, {{0, 0x100, {1}}, {kSecond, 0x100, {1}}}).silences;
  ASSERT_EQ(later.size(), 1U);
  EXPECT_EQ(later[0].time_ns, 400 * kMs) << "64 times 5 ms are 320";
}

TEST(SilenceWatch, GoesOnWithoutFrames) {
  SilenceWatch watch = watch_of(rounds(50));
  EXPECT_FALSE(watch.until(kSecond)) << "nothing was heard yet";
  const auto frames = rounds(50);
  const int64_t last = frames.back().time_ns;
  EXPECT_TRUE(report_all(watch, frames).silences.empty());
  EXPECT_FALSE(watch.until(last + kTick));
  const auto silence = watch.until(last + kTick + kMs);
  ASSERT_TRUE(silence);
  EXPECT_EQ(silence->time_ns, last + kTick);
  EXPECT_FALSE(watch.until(last + 2 * kTick)) << "once";
  EXPECT_TRUE(report_all(watch, rounds(50, last + 100 * kSecond)).silences.empty()) << "the frames after it";
  EXPECT_TRUE(watch.until(last + 200 * kSecond)) << "another one";
}

TEST(SilenceWatch, ASleepAsInBenignTrafficIsNone) {
  // Before the pause a single ID is heard for more than a second.
  auto benign = rounds(50);
  for (const Frame& frame : rounds(60, kSecond, 1)) benign.push_back(frame);
  for (const Frame& frame : rounds(50, 900 * kSecond)) benign.push_back(frame);
  ASSERT_EQ(learned_from(benign).silence().ids_before_sleep, 1);
  SilenceWatch watch = watch_of(benign);
  EXPECT_TRUE(report_all(watch, benign).silences.empty());
  EXPECT_TRUE(report_all(watch, rounds(10, 5000 * kSecond)).silences.size() == 1) << "cut off among all four";
}

TEST(SilenceWatch, AClockThatIsSetBackIsNoSilence) {
  SilenceWatch watch = watch_of(rounds(50));
  EXPECT_TRUE(report_all(watch, rounds(50, 5000 * kSecond)).silences.empty());
  EXPECT_TRUE(report_all(watch, rounds(50)).silences.empty());
  EXPECT_EQ(report_all(watch, rounds(50, 10 * kSecond)).silences.size(), 1U) << "from the new time on";
}

TEST(SilenceWatch, WantsADetectorThatLearnedIt) {
  const BehaviourProfile profile = learned_from(rounds(50));
  const auto make = [&] { SilenceWatch({}, profile.vocabulary(), kTick, 1); };
  EXPECT_NE(error_text<UsageError>(make).find("calibrate"), std::string::npos);
}

TEST(WaitForInput, EndsAfterAWhileInVain) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  EXPECT_EQ(wait_for_input(ends[0], nullptr, 20 * kMs), Waited::timed_out);
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(20));
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  EXPECT_EQ(wait_for_input(ends[0], nullptr, 20 * kMs), Waited::input);
  const std::atomic<bool> stop = true;
  EXPECT_EQ(wait_for_input(ends[0], &stop), Waited::stopped);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace plimsoll

#include "can/score/state_changes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/behaviour_test.h"

namespace plimsoll {
namespace {

constexpr int kIds = 12;
constexpr int64_t kSecond = 1000 * kMs;

// Twelve IDs, each due every 12 ms. A frame is sent if sends(id, time) is true, with the payload payload(id,
// time).
template <typename Sends, typename Payload>
std::vector<Frame> traffic(int64_t end, const Sends& sends, const Payload& payload) {
  std::vector<Frame> frames;
  for (int64_t k = 0; k * kMs < end; ++k)
    if (const auto id = static_cast<uint32_t>(k % kIds); sends(id, k * kMs))
      frames.push_back({k * kMs, 0x100 + id, {payload(id, k * kMs), static_cast<uint8_t>(k / kIds)}});
  return frames;
}

std::vector<Frame> benign() {
  return traffic(
      2 * kSecond, [](auto, auto) { return true; }, [](auto, auto) { return uint8_t{0xA0}; });
}

// The silence in the last window of traffic in which ID 0 falls silent after 3 s and `changing` other IDs
// change a bit `later`.
std::optional<float> silence(int changing, int64_t later, bool again = false, bool two = false,
                             uint8_t before = 0xA0, uint8_t after = 0xA1) {
  const int64_t stop = 3 * kSecond;
  const auto frames = traffic(
      6 * kSecond,
      [&](uint32_t id, int64_t time) {
        if (two && id == 11 && time > 4 * kSecond) return false;
        return id != 0 || time < stop || (again && time > 4 * kSecond && time < 5 * kSecond);
      },
      [&](uint32_t id, int64_t time) {
        return id >= 1 && id <= static_cast<uint32_t>(changing) && time > stop + later ? after : before;
      });
  const BehaviourProfile profile = learned_from(benign());
  const FrameBatch batch = batch_of(frames);
  Recording recording;
  recording.frames = std::ssize(frames);
  StateChanges states;
  std::optional<float> last;
  for (int64_t first = 0; first + 100 <= std::ssize(frames); first += 100)
    last = states.silence(batch.spans(), {&recording, first, 100}, profile);
  return last;
}

TEST(StateChanges, AnIdThatStopsAsTheCarChangesIsNotMissed) {
  ASSERT_EQ(learned_from(benign()).expected().size(), size_t{kIds});
  EXPECT_EQ(silence(8, 0), 0.0F) << "of eight other IDs a bit changes for the first time";
  EXPECT_EQ(silence(7, 0), std::nullopt);
  EXPECT_EQ(silence(0, 0), std::nullopt);
}

// In the calibration these bits had other values. A different value is not a change; only a bit that changes
// from frame to frame is.
TEST(StateChanges, AnotherDriveMayStartWithOtherValues) {
  EXPECT_EQ(silence(8, 0, false, false, 0xB0, 0xB0), std::nullopt);
  EXPECT_EQ(silence(8, 0, false, false, 0xB0, 0xA0), 0.0F) << "back to that of the calibration";
}

TEST(StateChanges, TheCarChangesInTheMomentOfItsLastFrame) {
  EXPECT_EQ(silence(8, 200 * kMs), 0.0F);
  EXPECT_EQ(silence(8, 300 * kMs), std::nullopt);
  EXPECT_EQ(silence(8, -200 * kMs), std::nullopt) << "before it";
}

TEST(StateChanges, AnIdThatIsHeardAgainIsMissedAgain) {
  EXPECT_EQ(silence(8, 0, true), std::nullopt);
}

TEST(StateChanges, OthersAreStillMissed) {
  const auto found = silence(8, 0, false, true);
  ASSERT_TRUE(found);
  // ID 11 is silent for nearly two seconds; its longest gap is 12 ms, in bins of 3 %.
  EXPECT_NEAR(*found, std::log2(1.9 / 0.0124), 0.2);
}

TEST(StateChanges, KnowsNothingOfAProfileWithoutArrivals) {
  BehaviourProfile profile(Vocabulary({{0x100}}));
  const FrameBatch batch = batch_of(benign());
  Recording recording;
  EXPECT_EQ(StateChanges().silence(batch.spans(), {&recording, 0, 100}, profile), std::nullopt);
}

}  // namespace
}  // namespace plimsoll

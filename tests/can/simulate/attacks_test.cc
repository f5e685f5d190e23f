#include "can/simulate/attacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "can/simulate/bus_simulator.h"
#include "support/errors.h"
#include "support/made_frames.h"

namespace plimsoll {
namespace {

constexpr int64_t kStart = 1'600'000'000'000'000'000;
constexpr size_t kFrames = 60'000;

// The frames of a made-up vehicle, with and without an attack.
class Attacks : public ::testing::Test {
 protected:
  Attacks() {
    VehicleFrames due(vehicle_, 9, 0, kStart);
    Bus bus(due);
    benign_ = take(bus, kFrames);
    plan_.target = vehicle_.messages[3].can_id;
    plan_.lowest = vehicle_.messages[0].can_id;
    plan_.seed = 9;
    plan_.first_ns = kStart;
    plan_.cycle_ns = 2'000'000'000;
  }
  std::vector<CanFrame> attacked(AttackKind kind) {
    plan_.kind = kind;
    MadeFrames source(benign_);
    AttackedFrames frames(source, plan_);
    return take(frames, 10 * kFrames);
  }
  bool in_burst(int64_t time_ns) const {
    const Burst burst = burst_of(plan_, (time_ns - plan_.first_ns) / plan_.cycle_ns);
    return time_ns >= burst.begin && time_ns < burst.end;
  }
  static std::vector<CanFrame> with_label(const std::vector<CanFrame>& frames, uint8_t label) {
    std::vector<CanFrame> chosen;
    for (const CanFrame& frame : frames)
      if (frame.label == label) chosen.push_back(frame);
    return chosen;
  }
  // The frames that an attack adds, for attacks that only add frames. All other frames are unchanged.
  std::vector<CanFrame> added(AttackKind kind) {
    const auto frames = attacked(kind);
    EXPECT_EQ(with_label(frames, 0), benign_);
    for (size_t i = 1; i < frames.size(); ++i) EXPECT_GT(frames[i].time_ns, frames[i - 1].time_ns);
    const auto injected = with_label(frames, 1);
    for (const CanFrame& frame : injected) EXPECT_TRUE(in_burst(frame.time_ns));
    return injected;
  }
  // The frames that an attack adds, burst by burst, for attacks that send independently with the target's ID.
  // Each burst has one payload: the target's last payload before the burst, with other bits in the first two
  // bytes.
  std::vector<std::vector<CanFrame>> forged_bursts(AttackKind kind) {
    std::vector<std::vector<CanFrame>> bursts;
    CanFrame real;
    int64_t cycle = -1;
    const auto frames = attacked(kind);
    EXPECT_EQ(with_label(frames, 0), benign_);
    for (const CanFrame& frame : frames) {
      if (frame.label == 0) {
        if (frame.can_id == plan_.target && !in_burst(frame.time_ns)) real = frame;
        continue;
      }
      EXPECT_TRUE(in_burst(frame.time_ns));
      if (cycle != (frame.time_ns - plan_.first_ns) / plan_.cycle_ns) bursts.emplace_back();
      cycle = (frame.time_ns - plan_.first_ns) / plan_.cycle_ns;
      bursts.back().push_back(frame);
      EXPECT_EQ(frame.can_id, plan_.target);
      EXPECT_EQ(frame.length, real.length);
      EXPECT_EQ(frame.data, bursts.back().front().data);
      EXPECT_NE(frame.data & 0xFF, real.data & 0xFF);
      EXPECT_EQ(frame.data >> 16, real.data >> 16);
    }
    return bursts;
  }
  int64_t target_frames_in_bursts() const {
    return std::count_if(benign_.begin(), benign_.end(), [&](const CanFrame& frame) {
      return frame.can_id == plan_.target && in_burst(frame.time_ns);
    });
  }
  Vehicle vehicle_ = make_vehicle(9, 0);
  std::vector<CanFrame> benign_;
  AttackPlan plan_;
};

TEST_F(Attacks, BurstsCoverAFifthToAQuarterOfEachCycle) {
  for (uint32_t recording = 0; recording < 50; ++recording) {
    plan_.recording = recording;
    for (int64_t cycle = 0; cycle < 50; ++cycle) {
      const Burst burst = burst_of(plan_, cycle);
      const int64_t begin = plan_.first_ns + cycle * plan_.cycle_ns;
      EXPECT_GE(burst.begin, begin + plan_.cycle_ns / 4);
      EXPECT_LE(burst.end, begin + plan_.cycle_ns);
      EXPECT_GE(burst.end - burst.begin, plan_.cycle_ns / 5);
      EXPECT_LE(burst.end - burst.begin, plan_.cycle_ns / 4);
      EXPECT_EQ(burst.begin % 1000, 0);
    }
  }
}

TEST_F(Attacks, DosFloodsOneIdOfHighestPriorityWithZeros) {
  bool zero = false;
  bool lowest = false;
  for (uint32_t recording = 0; recording < 8; ++recording) {
    plan_.recording = recording;
    const auto injected = added(AttackKind::dos);
    EXPECT_GT(injected.size(), kFrames / 8);
    for (const CanFrame& frame : injected) {
      ASSERT_EQ(frame.can_id, injected[0].can_id);
      ASSERT_EQ(frame.data, 0U);
      ASSERT_EQ(frame.length, 8);
    }
    zero |= injected[0].can_id == 0;
    lowest |= injected[0].can_id == plan_.lowest;
  }
  EXPECT_TRUE(zero);
  EXPECT_TRUE(lowest);
}

TEST_F(Attacks, FuzzingSendsAllSortsOfIdsAndPayloads) {
  const auto injected = added(AttackKind::fuzzing);
  ASSERT_GT(injected.size(), 3'000U);
  std::vector<bool> ids(0x800);
  std::array<int64_t, 64> bits{};
  for (const CanFrame& frame : injected) {
    ids.at(frame.can_id) = true;
    for (size_t bit = 0; bit < bits.size(); ++bit) bits[bit] += static_cast<int64_t>(frame.data >> bit & 1);
  }
  EXPECT_GT(std::count(ids.begin(), ids.end(), true), 1'500);
  for (const int64_t count : bits)
    EXPECT_NEAR(static_cast<double>(count), static_cast<double>(injected.size()) / 2,
                static_cast<double>(injected.size()) / 20);
}

TEST_F(Attacks, SpoofingAddsAWrongFrameAfterEachOfTheTarget) {
  const auto frames = attacked(AttackKind::spoofing);
  const auto injected = added(AttackKind::spoofing);
  // The last frame of a burst may not fit before its end.
  EXPECT_LE(static_cast<int64_t>(injected.size()), target_frames_in_bursts());
  EXPECT_GE(static_cast<int64_t>(injected.size()), target_frames_in_bursts() * 9 / 10);
  const CanFrame* real = nullptr;
  for (const CanFrame& frame : frames) {
    if (frame.can_id != plan_.target) continue;
    if (frame.label == 0) {
      real = &frame;
      continue;
    }
    ASSERT_NE(real, nullptr);
    ASSERT_EQ(frame.length, real->length);
    ASSERT_NE(frame.data, real->data);
    ASSERT_EQ(frame.data & ~payload_mask(frame.length), 0U);
  }
}

TEST_F(Attacks, ReplaySendsEarlierFramesAgainInTheirOrder) {
  const auto frames = attacked(AttackKind::replay);
  ASSERT_GT(added(AttackKind::replay).size(), kFrames / 10);
  // The first burst replays the last 1024 frames before it, starting with the earliest.
  const Burst burst = burst_of(plan_, 0);
  std::vector<CanFrame> heard;
  for (const CanFrame& frame : benign_)
    if (frame.time_ns < burst.begin) heard.push_back(frame);
  if (heard.size() > 1024) heard.erase(heard.begin(), heard.end() - 1024);
  size_t replayed = 0;
  int64_t first = 0;
  for (const CanFrame& frame : frames) {
    if (frame.label != 1 || frame.time_ns >= burst.end) continue;
    const CanFrame& original = heard[replayed % heard.size()];
    ASSERT_EQ(frame.can_id, original.can_id);
    ASSERT_EQ(frame.data, original.data);
    if (replayed == 0) first = frame.time_ns;
    if (replayed < heard.size()) {
      // Frames keep the pace at which they were heard, except for gaps that were too short.
      ASSERT_NEAR(static_cast<double>(frame.time_ns - first),
                  static_cast<double>(original.time_ns - heard[0].time_ns), 5e6);
    }
    ++replayed;
  }
  EXPECT_GT(replayed, 100U);
}

TEST_F(Attacks, SuppressionLeavesTheTargetOutAndLabelsNothing) {
  const auto frames = attacked(AttackKind::suppression);
  std::vector<CanFrame> expected;
  for (const CanFrame& frame : benign_)
    if (frame.can_id != plan_.target || !in_burst(frame.time_ns)) expected.push_back(frame);
  EXPECT_EQ(frames, expected);
  EXPECT_GT(target_frames_in_bursts(), 100);
}

TEST_F(Attacks, MasqueradeChangesAndLabelsTheTargetInItsPlace) {
  const auto frames = attacked(AttackKind::masquerade);
  ASSERT_EQ(frames.size(), benign_.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    const bool expected = benign_[i].can_id == plan_.target && in_burst(benign_[i].time_ns);
    ASSERT_EQ(frames[i].label, expected ? 1 : 0);
    ASSERT_EQ(frames[i].data != benign_[i].data, expected);
    ASSERT_EQ(frames[i].time_ns, benign_[i].time_ns);
    ASSERT_EQ(frames[i].can_id, benign_[i].can_id);
    ASSERT_EQ(frames[i].length, benign_[i].length);
    ASSERT_EQ(frames[i].data & ~payload_mask(frames[i].length), 0U);
  }
}

TEST_F(Attacks, SuppressionCanLabelTheSilence) {
  plan_.label_silence = true;
  const auto frames = attacked(AttackKind::suppression);
  std::vector<CanFrame> expected;
  bool silent = false;
  for (CanFrame frame : benign_) {
    if (frame.can_id == plan_.target) silent = in_burst(frame.time_ns);
    if (frame.can_id == plan_.target && silent) continue;
    frame.label = silent ? 1 : 0;
    expected.push_back(frame);
  }
  EXPECT_EQ(frames, expected);
  EXPECT_GT(with_label(frames, 1).size(), kFrames / 8);
  EXPECT_LT(with_label(frames, 1).size(), kFrames / 3);
}

TEST_F(Attacks, ASilenceWithoutReturnLastsToTheEnd) {
  plan_.label_silence = true;
  const Burst burst = burst_of(plan_, 0);
  std::erase_if(benign_, [&](const CanFrame& frame) {
    return frame.can_id == plan_.target && frame.time_ns >= burst.end;
  });
  const auto frames = attacked(AttackKind::suppression);
  EXPECT_EQ(frames.back().label, 1);
  const auto first = std::find_if(frames.begin(), frames.end(), [](const auto& f) { return f.label == 1; });
  EXPECT_TRUE(std::all_of(first, frames.end(), [](const auto& f) { return f.label == 1; }));
  EXPECT_TRUE(in_burst(first->time_ns));
}

TEST_F(Attacks, SilenceIsLabelledInSuppressionAlone) {
  for (int kind = 0; kind < kAttackKinds; ++kind) {
    if (static_cast<AttackKind>(kind) == AttackKind::suppression) continue;
    plan_.label_silence = false;
    const auto frames = attacked(static_cast<AttackKind>(kind));
    plan_.label_silence = true;
    EXPECT_EQ(frames, attacked(static_cast<AttackKind>(kind))) << kind;
  }
}

TEST_F(Attacks, InjectionSendsAtAMultipleOfTheTargetsRate) {
  std::array<int, 11> bursts{};
  double phases = 0;
  int64_t seen = 0;
  const auto period = static_cast<double>(vehicle_.messages[3].period_us) * 1e3;
  for (uint32_t recording = 0; recording < 20; ++recording) {
    plan_.recording = recording;
    for (const auto& frames : forged_bursts(AttackKind::injection)) {
      if (frames.size() < 5) continue;
      const auto time = [&](size_t i) { return static_cast<double>(frames[i].time_ns); };
      const double gap = (time(frames.size() - 1) - time(0)) / static_cast<double>(frames.size() - 1);
      const double rate = std::round(period / gap);
      ++bursts.at(static_cast<size_t>(rate));
      const double slot = period / rate;
      for (size_t i = 1; i < frames.size(); ++i) {
        // The tolerance covers a tenth of jitter, an error of 3 % in a period of few frames, and delays on
        // the bus.
        ASSERT_NEAR(time(i) - time(0), static_cast<double>(i) * slot,
                    0.1 * slot + 0.03 * (time(i) - time(0)) + 3e5);
      }
      const Burst burst = burst_of(plan_, (frames[0].time_ns - plan_.first_ns) / plan_.cycle_ns);
      phases += static_cast<double>(frames[0].time_ns - burst.begin) / slot;
      ++seen;
    }
  }
  EXPECT_EQ(bursts[0], 0);
  for (size_t rate = 1; rate <= 10; ++rate) EXPECT_GT(bursts[rate], seen / 30) << rate;
  EXPECT_NEAR(phases / static_cast<double>(seen), 0.55, 0.1);
}

TEST_F(Attacks, TheTargetsRateIsThatOfTheFramesHeard) {
  // Only the target sends, every 10 ms from 0.3 s on.
  benign_.clear();
  for (int64_t i = 0; i < 1'000; ++i)
    benign_.push_back(
        {.time_ns = kStart + 300'000'000 + i * 10'000'000, .can_id = plan_.target, .length = 8});
  const auto bursts = forged_bursts(AttackKind::injection);
  ASSERT_EQ(bursts.size(), 5U);
  for (const auto& frames : bursts) {
    const auto slots = static_cast<double>(frames.size() - 1);
    const auto span = static_cast<double>(frames.back().time_ns - frames.front().time_ns);
    const double slot = 1e7 / std::round(1e7 * slots / span);
    // The tolerance covers jitter at both ends and the rounding of each slot to whole microseconds.
    EXPECT_NEAR(span, slots * slot, 0.1 * slot + 1e3 * slots);
  }
}

TEST_F(Attacks, FloodingSendsOneForgedFrameOfTheTargetOverAndOver) {
  const auto bursts = forged_bursts(AttackKind::flooding);
  ASSERT_GT(bursts.size(), 5U);
  std::set<uint64_t> payloads;
  for (const auto& frames : bursts) {
    EXPECT_GT(frames.size(), 600U);
    payloads.insert(frames[0].data);
    for (size_t i = 1; i < frames.size(); ++i) {
      // The gap is 0.4 to 0.6 ms, except for a microsecond of distance to real frames.
      ASSERT_GE(frames[i].time_ns - frames[i - 1].time_ns, 400'000);
      ASSERT_LE(frames[i].time_ns - frames[i - 1].time_ns, 602'000);
    }
  }
  EXPECT_GT(payloads.size(), 3U);
}

TEST_F(Attacks, ATargetThatWasNotHeardIsNotForged) {
  const uint32_t target = plan_.target;
  plan_.target = 0x7FF;
  EXPECT_EQ(attacked(AttackKind::injection), benign_);
  EXPECT_EQ(attacked(AttackKind::flooding), benign_);

  // The target was heard once before the first burst: there is a payload to flood with, but no period.
  plan_.target = target;
  const Burst burst = burst_of(plan_, 0);
  bool heard = false;
  std::erase_if(benign_, [&](const CanFrame& frame) {
    return frame.time_ns < burst.begin && frame.can_id == target && std::exchange(heard, true);
  });
  const auto in_first = [&](AttackKind kind) { return added(kind).front().time_ns < burst.end; };
  EXPECT_TRUE(in_first(AttackKind::flooding));
  EXPECT_FALSE(in_first(AttackKind::injection));
}

// Existing collections must be reproducible.
TEST_F(Attacks, TheFirstSixAreAsTheyWere) {
  Hasher hasher;
  plan_.spacing_ns = 244'000;
  for (int kind = 0; kind < 6; ++kind)
    hasher.add(hash_of(attacked(static_cast<AttackKind>(kind))).data(), 16);
  EXPECT_EQ(hasher.hex64(), "8e8226bc1a53ec8f");
}

TEST_F(Attacks, InjectedFramesKeepTheirDistance) {
  plan_.spacing_ns = 244'000;
  const auto frames = attacked(AttackKind::dos);
  EXPECT_EQ(with_label(frames, 0), benign_);
  EXPECT_GT(with_label(frames, 1).size(), 1'000U);
  for (size_t i = 1; i < frames.size(); ++i) {
    if (frames[i].label == 1 || frames[i - 1].label == 1) {
      ASSERT_GE(frames[i].time_ns - frames[i - 1].time_ns, 244'000);
    }
  }
}

TEST_F(Attacks, ASourceThatRunsBackInTimeKeepsItsFrames) {
  for (size_t i = 0; i + 2'000 < benign_.size(); i += 5'000)
    std::rotate(benign_.begin() + static_cast<int64_t>(i), benign_.begin() + static_cast<int64_t>(i) + 1'000,
                benign_.begin() + static_cast<int64_t>(i) + 2'000);
  for (const AttackKind kind : {AttackKind::dos, AttackKind::fuzzing, AttackKind::spoofing,
                                AttackKind::replay, AttackKind::injection, AttackKind::flooding}) {
    const auto frames = attacked(kind);
    EXPECT_EQ(with_label(frames, 0), benign_);
    EXPECT_GT(with_label(frames, 1).size(), 100U);
  }
}

TEST_F(Attacks, UnlabelledFramesStayUnlabelled) {
  for (CanFrame& frame : benign_) frame.label = kUnlabelled;
  EXPECT_EQ(with_label(attacked(AttackKind::dos), kUnlabelled), benign_);
}

TEST_F(Attacks, ThereIsNothingToDoInNoFrames) {
  benign_.clear();
  for (int kind = 0; kind < kAttackKinds; ++kind)
    EXPECT_TRUE(attacked(static_cast<AttackKind>(kind)).empty());
}

TEST_F(Attacks, TheSamePlanGivesTheSameFramesAndAnotherRecordingOthers) {
  for (const AttackKind kind : {AttackKind::fuzzing, AttackKind::injection, AttackKind::flooding}) {
    plan_.recording = 0;
    const auto frames = attacked(kind);
    EXPECT_EQ(frames, attacked(kind));
    plan_.recording = 1;
    EXPECT_NE(frames, attacked(kind));
  }
}

TEST(ParseAttacks, TakesNamesWithCommas) {
  EXPECT_TRUE(parse_attacks("none").empty());
  EXPECT_EQ(parse_attacks("masquerade,DoS"),
            (std::vector<AttackKind>{AttackKind::masquerade, AttackKind::dos}));
  for (int kind = 0; kind < kAttackKinds; ++kind)
    EXPECT_EQ(parse_attacks(attack_name(static_cast<AttackKind>(kind))).at(0), static_cast<AttackKind>(kind));
  EXPECT_NE(error_text<UsageError>([] { parse_attacks("DoS,foo"); }).find("'foo'"), std::string::npos);
  EXPECT_NE(error_text<UsageError>([] { parse_attacks("DoS,DoS"); }).find("twice"), std::string::npos);
  EXPECT_NE(error_text<UsageError>([] { parse_attacks(""); }).find("masquerade"), std::string::npos);
  EXPECT_NE(error_text<UsageError>([] { parse_attacks("DoS,"); }).find("''"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll

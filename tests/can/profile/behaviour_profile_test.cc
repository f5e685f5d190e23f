#include "can/profile/behaviour_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "base/error.h"
#include "can/profile/gap_bins.h"
#include "support/behaviour_test.h"
#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kGap = 1 << 23;

// The frames of IDs 16 and 32 in 60 rounds: two counters, a bit that varies and a byte that wanders.
std::vector<Frame> rounds() {
  std::mt19937 random(4);
  std::vector<Frame> frames;
  for (int i = 0; i < 60; ++i) {
    const auto number = static_cast<uint8_t>(i);
    frames.push_back(
        {i * kGap, 16, {static_cast<uint8_t>(2 * number), 0xFF, static_cast<uint8_t>(random() % 9)}});
    frames.push_back({i * kGap + kGap / 2, 32, {static_cast<uint8_t>(number % 16 | random() % 2 << 7)}});
  }
  return frames;
}

BehaviourProfile learn(const std::vector<Frame>& frames, const std::vector<FrameWindow>& runs) {
  const FrameBatch batch = batch_of(frames);
  return BehaviourProfile::learn(batch.spans(), runs);
}

class ProfileOfManyIds : public BehaviourTest, public testing::WithParamInterface<int> {};

TEST_P(ProfileOfManyIds, IsRefusedForAllThatItTakes) {
  std::vector<Frame> frames;
  for (int i = 0; i < GetParam(); ++i) frames.push_back({i * kMs, static_cast<uint32_t>(i), {1}});
  const FramesView set = make({{"train", frames}});
  const FrameWindow run{set.recordings().data(), 0, GetParam()};
  const std::vector<std::function<void()>> ways = {
      [&] { BehaviourProfile::learn(set, Vocabulary(training_ids(set, true))); },
      [&] {
        BehaviourProfile::learn(set.frames(), {&run, 1});
      }};
  for (const auto& learn : ways) {
    Ledger& ledger = Ledger::process();
    const int64_t before = ledger.held();
    ledger.begin_recent();
    learn();
    const int64_t needed = ledger.recent_peak() - before;
    const LedgerCap cap(needed / 20);
    int64_t asked = 0;
    try {
      learn();
    } catch (const BudgetExceeded& refusal) {
      asked = refusal.bytes_asked();
    }
    EXPECT_GT(asked, needed * 9 / 10);
    EXPECT_LE(asked, needed);
  }
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutTransitions, ProfileOfManyIds, testing::Values(3000, 5000));

TEST(BehaviourProfile, LooksAtNothingBetweenRuns) {
  // ID 16 has payload 0 and, much later, payload 200. ID 32 is last in the first run.
  std::vector<Frame> frames = every(kGap, 16, 30);
  frames.push_back({30 * kGap, 32});
  for (Frame frame : every(kGap, 16, 30, 1000 * kGap)) {
    frame.payload = {200};
    frames.push_back(frame);
  }
  const Recording recording;
  const BehaviourProfile apart = learn(frames, {{&recording, 0, 31}, {&recording, 31, 30}});
  EXPECT_EQ(apart.id(0).longest_gap, kGap + (kGap >> 5));
  EXPECT_EQ(apart.id(0).max_change[0], 0);
  EXPECT_NEAR(apart.id(0).gap_mean, scaled_log(kGap), 1e-12);
  EXPECT_TRUE(apart.has_transition(0, 1));
  EXPECT_FALSE(apart.has_transition(1, 0));
  const BehaviourProfile at_once = learn(frames, {{&recording, 0, 61}});
  EXPECT_EQ(at_once.id(0).longest_gap, 0);
  EXPECT_EQ(at_once.id(0).max_change[0], 200);
  EXPECT_TRUE(at_once.has_transition(1, 0));
}

TEST(BehaviourProfile, LearnsFromFramesThatAreNotLabelledAnAttack) {
  const auto labelled = [](std::vector<Frame> frames, uint8_t label) {
    for (Frame& frame : frames) frame.label = label;
    return frames;
  };
  const auto frames =
      together({every(kGap, 16, 40), labelled(every(kGap, 32, 40, kGap / 2), kUnlabelled),
                labelled(every(kGap, 16, 40, kGap / 4), 1), labelled(every(kGap, 48, 40, kGap / 4), 1)});
  const BehaviourProfile profile = learned_from(frames);
  EXPECT_THAT(profile.vocabulary().ids().keys, ElementsAre(16, 32));
  EXPECT_EQ(profile.id(0).min_two_gaps, 2 * kGap);
  EXPECT_TRUE(profile.has_transition(0, 1));
  EXPECT_FALSE(profile.has_transition(0, 0));
}

TEST(BehaviourProfile, ExpectsWhatEveryRecordingWithTimesHas) {
  const auto both = together({every(kGap, 16, 40), every(kGap, 32, 40, 1)});
  std::vector<Frame> frames = both;                                        // Recording a has two runs.
  for (const Frame& frame : every(kGap, 16, 40)) frames.push_back(frame);  // Recording b.
  for (Frame frame : every(kGap, 48, 40)) {                                // Recording c has only attacks.
    frame.label = 1;
    frames.push_back(frame);
  }
  Recording a;
  Recording b;
  const Recording c;
  const std::vector<FrameWindow> runs = {{&a, 0, 30}, {&a, 30, 50}, {&b, 80, 40}, {&c, 120, 40}};
  const BehaviourProfile two = learn(frames, runs);
  EXPECT_THAT(two.expected(), ElementsAre(0));
  EXPECT_GT(two.id(1).min_two_gaps, 0);
  EXPECT_THAT(learn(frames, {runs[0], runs[1]}).expected(), ElementsAre(0, 1));
  b.has_time = false;
  EXPECT_THAT(learn(frames, runs).expected(), ElementsAre(0, 1));
}

TEST(BehaviourProfile, CountsARecordingWhoseFirstRunHasNothingBenign) {
  std::vector<Frame> frames = every(kGap, 48, 40);
  for (Frame& frame : frames) frame.label = 1;
  for (const Frame& frame : every(kGap, 16, 40)) frames.push_back(frame);
  for (const Frame& frame : together({every(kGap, 16, 40), every(kGap, 32, 40, 1)})) frames.push_back(frame);
  const Recording a;
  const Recording b;
  EXPECT_THAT(learn(frames, {{&a, 0, 40}, {&a, 40, 40}, {&b, 80, 80}}).expected(), ElementsAre(0));
}

TEST(BehaviourProfile, OfNoFramesKnowsNoId) {
  const BehaviourProfile nothing = learn({}, {});
  EXPECT_EQ(nothing.vocabulary().size(), 0);
  EXPECT_TRUE(nothing.expected().empty());
  EXPECT_TRUE(BehaviourProfile::from_tensors(nothing.tensors()).has_value());
}

TEST(BehaviourProfile, ComesBackFromItsTensors) {
  const BehaviourProfile learned = learned_from(rounds());
  ASSERT_TRUE(learned.id(0).has_expectations && learned.id(1).has_expectations);
  ASSERT_EQ(learned.id(0).counter_mask[0], 0xFF);
  ASSERT_EQ(learned.id(1).counter_mask[0], 0x0F);
  ASSERT_GT(learned.id(0).max_change[2], 0);
  ASSERT_THAT(learned.expected(), ElementsAre(0, 1));
  const auto back = BehaviourProfile::from_tensors(learned.tensors());
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->vocabulary().ids(), learned.vocabulary().ids());
  EXPECT_TRUE(std::ranges::equal(back->expected(), learned.expected()));
  for (int32_t n = 0; n < 2; ++n) {
    const BehaviourProfile::Id& found = back->id(n);
    const BehaviourProfile::Id& expected = learned.id(n);
    EXPECT_EQ(found.has_gaps, expected.has_gaps);
    EXPECT_EQ(found.gap_mean, expected.gap_mean);
    EXPECT_EQ(found.gap_units, expected.gap_units);
    EXPECT_EQ(found.has_payload, expected.has_payload);
    EXPECT_EQ(found.length, expected.length);
    EXPECT_EQ(found.byte_mean, expected.byte_mean);
    EXPECT_EQ(found.byte_units, expected.byte_units);
    EXPECT_EQ(found.min_two_gaps, expected.min_two_gaps);
    EXPECT_EQ(found.longest_gap, expected.longest_gap);
    EXPECT_EQ(found.has_expectations, expected.has_expectations);
    EXPECT_EQ(found.fixed_bits, expected.fixed_bits);
    EXPECT_EQ(found.fixed_value, expected.fixed_value);
    EXPECT_EQ(found.max_change, expected.max_change);
    EXPECT_EQ(found.counter_mask, expected.counter_mask);
    EXPECT_EQ(found.counter_step, expected.counter_step);
    for (int32_t m = 0; m < 2; ++m) EXPECT_EQ(back->has_transition(n, m), learned.has_transition(n, m));
  }
}

// Returns the tensors of a profile with one value replaced.
template <typename T>
NamedTensors damaged(const std::string& name, T value) {
  NamedTensors tensors = learned_from(rounds()).tensors();
  const OwnedTensor& good = tensors.at(name);
  const auto values = values_of<T>(tensors, name, good.shape);
  std::vector<T> bad(values.begin(), values.end());
  bad.back() = value;
  tensors[name] = own_tensor<T>(bad, good.shape);
  return tensors;
}

template <typename T>
void expect_refused(const std::string& name, T value) {
  try {
    BehaviourProfile::from_tensors(damaged(name, value));
    ADD_FAILURE() << name << " may hold " << value;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'" + name + "' holds"));
    EXPECT_THAT(error.what(), HasSubstr("train or calibrate it again"));
  }
}

TEST(BehaviourProfile, OfTensorsHoldsWhatIsPossible) {
  const std::vector<std::pair<std::string, int64_t>> max = {{"has_gaps", 1},
                                                            {"has_payload", 1},
                                                            {"has_expectations", 1},
                                                            {"length", 64},
                                                            {"most_change", 255},
                                                            {"counter_mask", 255},
                                                            {"counter_step", 255},
                                                            {"longest_gap_ns", int64_t{1} << 41},
                                                            {"least_two_gaps_ns", int64_t{1} << 41}};
  for (const auto& [name, value] : max) {
    EXPECT_TRUE(BehaviourProfile::from_tensors(damaged("profile." + name, value)).has_value()) << name;
    expect_refused("profile." + name, value + 1);
    expect_refused<int64_t>("profile." + name, -1);
    expect_refused("profile." + name, std::numeric_limits<int64_t>::min());
  }
  for (const char* name : {"gap_mean", "gap_units", "byte_mean", "byte_units"}) {
    expect_refused(std::string("profile.") + name, std::numeric_limits<double>::quiet_NaN());
    expect_refused(std::string("profile.") + name, -std::numeric_limits<double>::infinity());
  }
  EXPECT_TRUE(BehaviourProfile::from_tensors(damaged<int64_t>("profile.fixed_bits", -1)).has_value());
}

}  // namespace
}  // namespace plimsoll

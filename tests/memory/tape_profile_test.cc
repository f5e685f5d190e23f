#include "memory/tape_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Lifetimes: a [0, 3), b [1, 4), c [2, never).
Tape three_pieces() {
  Tape tape;
  tape.pieces = {{.bytes = 10, .taken = 0, .given = 3, .operation = "linear", .module = "a"},
                 {.bytes = 20, .taken = 1, .given = 4, .operation = "relu", .module = "b"},
                 {.bytes = 5, .taken = 2, .operation = "add", .module = "a"}};
  tape.events = 5;
  return tape;
}

int64_t sum_at_peak(const TapeProfile& profile) {
  int64_t sum = 0;
  for (const auto& [module, bytes] : profile.at_peak) sum += bytes;
  return sum;
}

TEST(TapeProfile, SaysWhichModuleHoldsWhatAtThePeak) {
  const TapeProfile profile = profile_tape(three_pieces(), {10, 20, 5});
  EXPECT_EQ(profile.peak, 35);
  EXPECT_EQ(profile.operation, "add");
  EXPECT_EQ(profile.peak_event, 2);
  EXPECT_THAT(profile.at_peak, ElementsAre(Pair("b", 20), Pair("a", 15)));
  EXPECT_THAT(profile.modules, ElementsAre("b", "a", "others"));
  EXPECT_THAT(profile.at, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(profile.series[0], ElementsAre(0, 20, 20, 20, 0));
  EXPECT_THAT(profile.series[1], ElementsAre(10, 10, 15, 5, 5));
}

TEST(TapeProfile, PutsModulesThatHoldLittleTogether) {
  const TapeProfile profile = profile_tape(three_pieces(), {10, 20, 5}, 240, 1);
  EXPECT_THAT(profile.modules, ElementsAre("b", "others"));
  EXPECT_THAT(profile.series[1], ElementsAre(10, 10, 15, 5, 5));
}

TEST(TapeProfile, OfNothingIsNothing) {
  EXPECT_TRUE(profile_tape(Tape(), {}).at_peak.empty());
  EXPECT_EQ(profile_tape(Tape(), {}).peak, 0);
}

// Uses made-up tapes: modules sum to the peak, and a thinned timeline still contains it.
TEST(TapeProfile, SumsToThePeakToTheByteHoweverItIsThinned) {
  std::mt19937 draw(1);
  for (int round = 0; round < 50; ++round) {
    Tape tape;
    std::vector<int64_t> bytes;
    std::vector<size_t> held;
    for (int event = 0; event < 400; ++event) {
      if (!held.empty() && draw() % 2 == 0) {
        const size_t which = draw() % held.size();
        tape.pieces[held[which]].given = tape.events++;
        held.erase(held.begin() + static_cast<int64_t>(which));
        continue;
      }
      held.push_back(tape.pieces.size());
      bytes.push_back(static_cast<int64_t>(draw() % 1000));
      tape.pieces.push_back({.bytes = bytes.back(),
                             .taken = tape.events++,
                             .operation = {},
                             .module = "m" + std::to_string(draw() % 12)});
    }
    const int64_t peak = peak_of(tape, bytes).bytes;
    const TapeProfile profile = profile_tape(tape, bytes, 30, 4);
    EXPECT_EQ(sum_at_peak(profile), peak);
    EXPECT_LE(profile.at.size(), 30U);
    int64_t max = 0;
    for (size_t i = 0; i < profile.at.size(); ++i) {
      int64_t sum = 0;
      for (const auto& series : profile.series) sum += series[i];
      max = std::max(max, sum);
    }
    EXPECT_EQ(max, peak);
  }
}

}  // namespace
}  // namespace plimsoll

#include "can/tasks/window_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "can/recipe/can_sections.h"
#include "can/tasks/window_overlap.h"
#include "can/windows/windows_set.h"
#include "config/earlier_runs.h"
#include "support/behaviour_test.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

// All tests of this program read recipes with the sections of CAN, and know windows of frames.
const bool kRegistered = (register_can_recipe(), register_overlap(overlap_of_windows), true);

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kWindow = 30;

// A recording of benign frames of two IDs.
class SplitForTest : public BehaviourTest {
 protected:
  SplitForTest() {
    std::vector<Frame> frames;
    for (int i = 0; i < 2000; ++i) frames.push_back({i * kMs, static_cast<uint32_t>(1 + i % 2)});
    frames_ = make({{"train", frames}}).set().folder();
  }
  static Recipe recipe(int64_t stride, const std::string& embargo = AutoOrNumber::kAuto) {
    Recipe recipe;
    can_sections(recipe).windows.window = {kWindow, WindowUnit::frames};
    can_sections(recipe).windows.stride = {stride, WindowUnit::frames};
    recipe.split.embargo.text = embargo;
    return recipe;
  }
  static TrainingSplit split(const std::filesystem::path& set, const Recipe& recipe) {
    if (kind_of(set) == "frames") return split_for(recipe, WindowData(set, recipe), {});
    return split_for(recipe, TrainingData(set, recipe), {});
  }
  // Number of frames that are in both training and validation windows.
  static int64_t shared_frames(const TrainingSplit& split, int64_t stride) {
    const auto frames_of = [&](const GraphList& graphs) {
      std::set<int64_t> frames;
      for (const int64_t graph : graphs)
        for (int64_t f = graph * stride; f < graph * stride + kWindow; ++f) frames.insert(f);
      return frames;
    };
    const auto validating = frames_of(split.validation);
    return std::ranges::count_if(frames_of(split.training),
                                 [&](int64_t f) { return validating.contains(f); });
  }

  std::filesystem::path frames_;
};

TEST_F(SplitForTest, NoFrameTrainsAndValidates) {
  for (const int64_t stride : {1, 7, 10, 15, 29, 30, 31, 100}) {
    const TrainingSplit split = this->split(frames_, recipe(stride));
    EXPECT_EQ(shared_frames(split, stride), 0) << stride;
    const int64_t embargo = split.validation.front() - split.training.back() - 1;
    EXPECT_EQ(embargo, std::max<int64_t>((kWindow + stride - 1) / stride - 1, 1)) << stride;
  }
}

TEST_F(SplitForTest, AnEmbargoThatSharesFramesIsRefusedWithTheOneThatDoesNot) {
  EXPECT_THAT(
      error_text<UsageError>([&] { split(frames_, recipe(10, "1")); }),
      AllOf(HasSubstr("split.embargo is 1"), HasSubstr("set split.embargo to 2 or more, or to auto")));
  EXPECT_EQ(shared_frames(split(frames_, recipe(10, "2")), 10), 0);
  const TrainingSplit none = split(frames_, recipe(kWindow, "0"));
  EXPECT_EQ(none.validation.front(), none.training.back() + 1);
}

// Earlier versions did not have the rule.
TEST_F(SplitForTest, EarlierRunsKeepTheirSplit) {
  for (const Recipe& earlier : {with_earlier_rules(recipe(10)), with_earlier_rules(recipe(10, "1"))}) {
    const TrainingSplit split = this->split(frames_, earlier);
    EXPECT_EQ(split.validation.front(), split.training.back() + 2);
    EXPECT_GT(shared_frames(split, 10), 0);
  }
}

// The lengths of the windows come from the manifest, not from the recipe.
TEST_F(SplitForTest, SoItIsOfWindowsThatWereMadeBefore) {
  const auto windows = folder_ / "windows";
  make_windows_set({.frames = frames_,
                    .out = windows,
                    .windows = {.features = WindowFeatures::behaviour, .window = kWindow, .stride = 10}},
                   [](int64_t, int64_t) {});
  EXPECT_EQ(shared_frames(split(windows, Recipe()), 10), 0);
  EXPECT_THAT(error_text<UsageError>([&] { split(windows, recipe(kWindow, "1")); }),
              HasSubstr("set split.embargo to 2 or more"));
}

}  // namespace
}  // namespace plimsoll

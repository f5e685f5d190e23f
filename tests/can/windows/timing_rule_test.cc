#include "can/windows/timing_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "can/capture/ingest.h"
#include "support/temp_folder.h"

// tests/python/test_timing_rule.py compares with NumPy on all kinds of windows.

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

class Timing : public ::testing::Test {
 protected:
  // Captures whose frames are lines "milliseconds ID label".
  FramesView make(const std::vector<std::pair<std::string, std::vector<std::string>>>& captures) {
    for (const auto& [path, frames] : captures) {
      std::filesystem::create_directories((folder_ / "in" / path).parent_path());
      std::ofstream file(folder_ / "in" / (path + ".csv"));
      file << "timestamp,arbitration_id,data_field,attack\n";
      for (const std::string& frame : frames) {
        std::istringstream fields(frame);
        double ms = 0;
        std::string id;
        int label = 0;
        fields >> ms >> id >> label;
        file << std::fixed << 100 + ms / 1000 << "," << id << ",00," << label << "\n";
      }
    }
    ingest_can({.sources = {folder_ / "in"}, .out = folder_ / "frames"}, [](int64_t, int64_t) {});
    return FramesView(folder_ / "frames");
  }
  static std::vector<std::string> every(double ms, const std::string& id, int count) {
    std::vector<std::string> frames;
    for (int i = 0; i < count; ++i) frames.push_back(std::to_string(i * ms) + " " + id + " 0");
    return frames;
  }
  TempFolder folder_;
};

const WindowOptions kTens{WindowFeatures::behaviour, 10, 10};

TEST_F(Timing, AWindowIsAsSuspectAsItsWorstId) {
  // 10A is sent every 8.192 ms, a bin's edge: at most 10 frames in a window of 10. Half the gap and another
  // ID follow.
  const FramesView frames = make({{"train/free", every(8.192, "10A", 40)},
                                  {"test/a", every(8.192, "10A", 10)},
                                  {"test/b", every(4.096, "10A", 10)},
                                  {"test/c", every(1, "20B", 10)},
                                  {"test/d", every(8.192, "10A", 5)}});
  const auto windows = open_windows(frames, kTens);
  const std::vector<int64_t> training = {4, 5, 6, 7};  // They follow the four windows of the test.
  const TimingRule rule = TimingRule::learn(frames, *windows, training);
  const auto scores = rule.scores(frames, *windows);
  EXPECT_THAT(std::vector<float>(scores.begin(), scores.begin() + 4),
              ElementsAre(FloatNear(0, 1e-6F), FloatNear(std::log(248.0F / 125), 1e-6F), TimingRule::kNothing,
                          FloatNear(std::log(124.0F / 125), 1e-6F)));
}

TEST_F(Timing, TooManyInAWindowAreSuspectWithoutTimesToo) {
  std::vector<std::string> mixed;
  for (int i = 0; i < 40; ++i) mixed.push_back(std::to_string(i) + (i % 5 == 0 ? " 10A 0" : " 20B 0"));
  const FramesView frames = make({{"train/free", mixed}, {"test/a", every(5, "10A", 10)}});
  const auto windows = open_windows(frames, kTens);
  const TimingRule rule = TimingRule::learn(frames, *windows, std::vector<int64_t>{1, 2, 3, 4});
  EXPECT_NEAR(rule.scores(frames, *windows)[0], std::log(10.0 / 2), 1e-6);  // The gaps of 10A are unchanged.
}

TEST_F(Timing, AttackFramesTeachNothing) {
  std::vector<std::string> attacked;
  for (int i = 0; i < 40; ++i) {
    attacked.push_back(std::to_string(8 * i) + " 10A 0");
    attacked.push_back(std::to_string(8 * i + 1) + " 10A 1");
    attacked.push_back(std::to_string(8 * i + 2) + " 7FF 1");
  }
  const FramesView frames = make({{"train/DoS-1", attacked}});
  const auto windows = open_windows(frames, kTens);
  std::vector<int64_t> training = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const NamedTensors learned = TimingRule::learn(frames, *windows, training).tensors();
  EXPECT_THAT(values_of<int64_t>(learned, "timing.ids", {-1}), ElementsAre(0x10A));
  EXPECT_THAT(values_of<int64_t>(learned, "timing.most", {-1}), ElementsAre(4));
  EXPECT_THAT(values_of<int64_t>(learned, "timing.least_gap_ns", {-1}), ElementsAre(61 << 17));
}

TEST_F(Timing, NothingToLearnFromIsRefusedAndSoAreDamagedTensors) {
  std::vector<std::string> frames_of_attack;
  for (int i = 0; i < 40; ++i) frames_of_attack.push_back(std::to_string(i) + " 10A 1");
  const FramesView frames = make({{"train/DoS-1", frames_of_attack}, {"train/free", every(1, "20B", 40)}});
  const auto windows = open_windows(frames, kTens);
  EXPECT_THROW(TimingRule::learn(frames, *windows, std::vector<int64_t>{0, 1}), InputError);
  EXPECT_THROW(TimingRule::learn(frames, *windows, {}), InputError);
  const NamedTensors good = TimingRule::learn(frames, *windows, std::vector<int64_t>{4, 5}).tensors();
  EXPECT_TRUE(TimingRule::from_tensors(good).has_value());
  EXPECT_FALSE(TimingRule::from_tensors({}).has_value());
  NamedTensors bad = good;
  bad.erase("timing.most");
  EXPECT_THROW(TimingRule::from_tensors(bad), InputError);
  bad["timing.most"] = own_tensor<int64_t>(std::vector<int64_t>{0}, {1});
  EXPECT_THROW(TimingRule::from_tensors(bad), InputError);
}

}  // namespace
}  // namespace plimsoll

#include "can/windows/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "can/windows/behaviour_windows.h"
#include "support/behaviour_test.h"

namespace plimsoll {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

// A window has ten frames, and one starts every 10 ms.
constexpr int64_t kWindow = 10;

class Calibrated : public BehaviourTest {
 protected:
  // Windows of two IDs; the windows in `attacked` have a frame labelled 1.
  static std::vector<Frame> windows(uint32_t id, int count, const std::vector<int>& attacked = {}) {
    std::vector<Frame> frames;
    for (int i = 0; i < kWindow * count; ++i)
      frames.push_back({i * kMs, i % 2 == 0 ? id : id + 1, {static_cast<uint8_t>(i)}});
    for (const int window : attacked) frames[static_cast<size_t>(kWindow * window + 5)].label = 1;
    return frames;
  }
  static WindowOptions calibrated(int64_t max, CalibrationFold fold = CalibrationFold::all) {
    return {.features = WindowFeatures::behaviour,
            .window = kWindow,
            .stride = kWindow,
            .calibration = {max, fold}};
  }
  static std::vector<double> column(const GraphBlock& block, const std::string& name) {
    std::vector<double> values;
    for (int64_t n = 0; n < block.nodes(); ++n) values.push_back(node(block, n, name));
    return values;
  }
};

std::vector<int64_t> list(std::span<const int64_t> graphs) {
  return {graphs.begin(), graphs.end()};
}

TEST_F(Calibrated, OnTheFirstBenignWindowsAThirdAtMost) {
  const FramesView frames = make({{"train", windows(1, 5)}, {"test", windows(10, 9, {1, 3})}});
  const auto source = open_windows(frames, calibrated(2));
  const auto& recordings = source->tables().recordings;
  ASSERT_EQ(recordings[1].first_graph, 5);
  EXPECT_THAT(calibration_windows(*source, recordings[1], 1), ElementsAre(5));
  EXPECT_THAT(calibration_windows(*source, recordings[1], 2), ElementsAre(5, 7));
  EXPECT_THAT(calibration_windows(*source, recordings[1], 1000), ElementsAre(5, 7, 9));
  EXPECT_THAT(calibration_windows(*source, recordings[0], 1000), ElementsAre(0));
  EXPECT_THAT(list(source->calibration()), ElementsAre(0, 5, 7));
  EXPECT_THAT(open_windows(frames, calibrated(0))->calibration(), IsEmpty());
}

TEST_F(Calibrated, OfARecordingWithFewBenignWindowsOnThose) {
  const FramesView frames = make({{"train", windows(1, 5)},
                                  {"test", windows(10, 9, {0, 1, 2, 3, 4, 5, 7, 8})},
                                  {"test", windows(20, 2)},
                                  {"test", {}}});
  EXPECT_THAT(list(open_windows(frames, calibrated(100))->calibration()), ElementsAre(0, 5 + 6));
}

TEST_F(Calibrated, WindowsAreJudgedByTheOtherHalf) {
  const std::vector<int64_t> five = {3, 4, 6, 7, 9};
  EXPECT_THAT(list(learned_in_fold(five, CalibrationFold::all, 0)), ElementsAre(3, 4, 6, 7, 9));
  EXPECT_THAT(list(learned_in_fold(five, CalibrationFold::first_half, 0)), ElementsAre(3, 4));
  EXPECT_THAT(list(learned_in_fold(five, CalibrationFold::second_half, 0)), ElementsAre(6, 7, 9));
  EXPECT_THAT(learned_in_fold(std::span(five).first(1), CalibrationFold::first_half, 0), IsEmpty());
}

// The two halves share no frame although windows overlap, and evaluated windows share no frame with the half
// that their profile is learned from.
TEST_F(Calibrated, OverlappingWindowsShareNoFramesWithTheOtherHalf) {
  const std::vector<int64_t> six = {3, 4, 6, 7, 9, 12};
  EXPECT_THAT(list(learned_in_fold(six, CalibrationFold::first_half, 3)), ElementsAre(3, 4, 6));
  EXPECT_THAT(list(learned_in_fold(six, CalibrationFold::second_half, 3)), ElementsAre(12));
  EXPECT_THAT(learned_in_fold(six, CalibrationFold::second_half, 6), IsEmpty());
  const FramesView frames = make({{"train", windows(1, 9)}, {"test", windows(10, 9)}});
  for (const int64_t stride : {1, 3, 4, 5, 9, 10}) {
    WindowOptions options = calibrated(12);
    options.stride = stride;
    const int64_t gap = overlapping_windows(kWindow, stride);
    const auto source = open_windows(frames, options);
    const auto begins = source->calibration();
    const auto& recording = source->tables().recordings[1];
    const auto from = std::ranges::lower_bound(begins, recording.first_graph);
    const std::span<const int64_t> recording_windows(from, begins.end());
    const auto first = learned_in_fold(recording_windows, CalibrationFold::first_half, gap);
    const auto second = learned_in_fold(recording_windows, CalibrationFold::second_half, gap);
    const auto frames_of = [&](std::span<const int64_t> graphs) {
      std::set<const uint32_t*> all;
      for (const int64_t graph : graphs)
        for (const uint32_t& id : source->frames(graph).can_id) all.insert(&id);
      return all;
    };
    std::vector<int64_t> judged;
    const auto left_out = with_gaps(begins, source->tables().recordings, gap);
    for (int64_t g = recording.first_graph; g < recording.first_graph + recording.graphs; ++g)
      if (!std::ranges::binary_search(left_out, g)) judged.push_back(g);
    const auto share = [&](std::span<const int64_t> some, std::span<const int64_t> others) {
      const auto a = frames_of(some);
      return std::ranges::any_of(frames_of(others), [&](const uint32_t* frame) { return a.contains(frame); });
    };
    EXPECT_FALSE(share(first, second)) << stride;
    EXPECT_FALSE(share(recording_windows, judged)) << stride;
    // No more windows than necessary are left out: the one before would share a frame.
    if (gap > 0 && !second.empty()) {
      const std::vector<int64_t> before = {second.front() - 1};
      EXPECT_TRUE(share(first, before)) << stride;
    }
  }
}

TEST_F(Calibrated, GapsEndWithTheirRecording) {
  const std::vector<GraphRange> recordings = {{"a", "test", 0, 4, {}, {}, {}},
                                              {"b", "test", 4, 9, {}, {}, {}}};
  const std::vector<int64_t> begins = {1, 2, 4, 7};
  EXPECT_THAT(with_gaps(begins, recordings, 0), ElementsAre(1, 2, 4, 7));
  EXPECT_THAT(with_gaps(begins, recordings, 1), ElementsAre(1, 2, 3, 4, 5, 7, 8));
  EXPECT_THAT(with_gaps(begins, recordings, 9), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
}

TEST_F(Calibrated, AFoldKnowsItsHalfAlone) {
  // ID 50 is only in the second of the two windows that are learned from.
  std::vector<Frame> recording = windows(10, 6);
  recording[12].can_id = 50;
  const FramesView frames = make({{"test", recording}, {"train", windows(1, 3)}});
  const auto knows = [&](CalibrationFold fold) {
    GraphBlock block;
    open_windows(frames, calibrated(2, fold))->read(std::vector<int64_t>{1}, block);
    return column(block, "known");
  };
  EXPECT_THAT(knows(CalibrationFold::all), ElementsAre(1, 1, 1));
  EXPECT_THAT(knows(CalibrationFold::first_half), ElementsAre(1, 1, 0));  // The IDs are 10, 11 and 50.
  EXPECT_THAT(knows(CalibrationFold::second_half), ElementsAre(1, 1, 1));
}

TEST_F(Calibrated, EachRecordingByItsOwnProfile) {
  const FramesView frames =
      make({{"train", windows(1, 9)}, {"test", windows(10, 9)}, {"test", windows(20, 9)}});
  const GraphBlock own = all(*open_windows(frames, calibrated(3)));
  EXPECT_THAT(column(own, "known"), Each(1));
  EXPECT_THAT(column(own, "id_index"), Each(0));
  const GraphBlock of_training = all(*open_windows(frames, calibrated(0)));
  EXPECT_THAT(column(of_training, "known"), Contains(0));
  EXPECT_THAT(column(of_training, "id_index"), Contains(2));
}

TEST_F(Calibrated, ARecordingWithoutBenignWindowsIsComparedWithTraining) {
  const FramesView frames = make(
      {{"train", windows(1, 9)}, {"test", windows(1, 3, {0, 1, 2})}, {"test", windows(30, 3, {0, 1, 2})}});
  const auto source = open_windows(frames, calibrated(3));
  GraphBlock block;
  source->read(std::vector<int64_t>{9, 12}, block);
  EXPECT_THAT(column(block, "known"), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(column(block, "id_index"), Each(0));
}

TEST_F(Calibrated, RunsAreWindowsThatFollowEachOther) {
  const FramesView frames = make({{"train", windows(1, 2)}, {"test", windows(10, 9)}});
  const auto source = open_windows(frames, calibrated(0));
  const Recording& recording = frames.recordings()[1];
  const std::vector<int64_t> graphs = {2, 3, 5, 7, 8, 9};
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (const FrameWindow& run : runs_of(frames, *source, recording, graphs)) {
    EXPECT_EQ(run.recording, &recording);
    runs.emplace_back(run.first, run.count);
  }
  EXPECT_THAT(runs, ElementsAre(std::pair(20, 20), std::pair(50, 10), std::pair(70, 30)));
  const auto half =
      open_windows(frames, {.features = WindowFeatures::behaviour, .window = kWindow, .stride = 5});
  const int64_t first = half->tables().recordings[1].first_graph;
  const auto overlapping =
      runs_of(frames, *half, recording, std::vector<int64_t>{first, first + 1, first + 4});
  ASSERT_EQ(overlapping.size(), 2U);
  EXPECT_EQ(overlapping[0].count, 15);
  EXPECT_EQ(overlapping[1].first, 40);
}

TEST_F(Calibrated, RunsStandInTheLedger) {
  const FramesView frames = make({{"train", windows(1, 40)}});
  const auto source = open_windows(frames, calibrated(0));
  std::vector<int64_t> apart;
  for (int64_t g = 0; g < 40; g += 2) apart.push_back(g);
  const int64_t before = Ledger::process().held(Tag::columns);
  const auto runs = runs_of(frames, *source, frames.recordings()[0], apart);
  EXPECT_GE(Ledger::process().held(Tag::columns) - before, 20 * static_cast<int64_t>(sizeof(FrameWindow)));
}

TEST_F(Calibrated, WindowsByTimeToo) {
  // The recording has two windows, then two without a frame, then five.
  std::vector<Frame> recording = windows(10, 7);
  for (size_t i = 20; i < recording.size(); ++i) recording[i].time_ns += 20 * kMs;
  const FramesView frames = make({{"test", recording}, {"train", windows(1, 3)}});
  WindowOptions options = calibrated(3);
  options.window = options.stride = 10 * kMs;
  options.unit = WindowUnit::nanoseconds;
  const auto source = open_windows(frames, options);
  ASSERT_EQ(source->tables().recordings[0].graphs, 9);
  EXPECT_THAT(list(source->calibration()), ElementsAre(0, 1, 2, 9));
  EXPECT_THAT(column(all(*source), "known"), Each(1));
  const std::vector<int64_t> silent = {2, 3};
  EXPECT_EQ(calibrated_profile(frames, *source, frames.recordings()[0], silent), nullptr);
}

TEST_F(Calibrated, CompatIsNot) {
  const FramesView frames = make({{"train", windows(1, 9)}});
  WindowOptions options = calibrated(3);
  options.features = WindowFeatures::compat;
  EXPECT_THROW(open_windows(frames, options), UsageError);
}

}  // namespace
}  // namespace plimsoll

#include "can/windows/window_times.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "can/capture/ingest.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

// Two recordings with a frame every millisecond; frame 6000 of "b" is an attack. Windows of compat features
// are not aligned to hundreds of frames in "b": their rows leave out one frame of every 5000.
class Times : public ::testing::Test {
 protected:
  Times() {
    std::filesystem::create_directories(folder_ / "in" / "train_a");
    for (const char* name : {"a", "b"}) {
      std::ofstream file(folder_ / "in" / "train_a" / (std::string(name) + "-1.csv"));
      for (int i = 0; i < 7000; ++i)
        file << fmt::format("{:.6f},1{},AB,{}\n", i / 1000.0, i % 8, name[0] == 'b' && i == 6000 ? 1 : 0);
    }
    ingest_can({.sources = {folder_ / "in"}, .out = folder_ / "frames"}, [](int64_t, int64_t) {});
  }
  TempFolder folder_;
};

TEST_F(Times, AreThoseOfTheFramesOfEachWindow) {
  const FramesView frames(folder_ / "frames");
  for (const WindowFeatures features : {WindowFeatures::compat, WindowFeatures::behaviour}) {
    const auto source = open_windows(frames, {.features = features});
    const WindowTimes times = window_times(*source, frames);
    const GraphRange& second = source->tables().recordings[1];
    int64_t attacked = 0;
    for (int64_t g = 0; g < source->graphs(); ++g) {
      const auto at = static_cast<size_t>(g);
      const FrameSpans window = source->frames(g);
      EXPECT_EQ(&frames.frames().time_ns[static_cast<size_t>(times.last_frame[at])], &window.time_ns.back());
      if (times.first_attack[at] < 0) continue;
      ++attacked;
      EXPECT_EQ(times.first_attack[at], 7000 + 6000);
      EXPECT_GE(g, second.first_graph);
      EXPECT_LE(times.last_frame[at] - times.first_attack[at], 101);
    }
    EXPECT_EQ(attacked, 1) << word_of(features);
    EXPECT_EQ(times.timed, (std::vector<bool>{true, true}));
    EXPECT_EQ(times.last_of, (std::vector<int64_t>{6999, 13'999}));
  }
}

TEST_F(Times, AnEmptyWindowEndsWithTheFrameBeforeIt) {
  const FramesView frames(folder_ / "frames");
  const auto source = open_windows(frames, {.features = WindowFeatures::behaviour,
                                            .window = 400'000,
                                            .stride = 400'000,
                                            .unit = WindowUnit::nanoseconds});
  const WindowTimes times = window_times(*source, frames);
  int64_t empty = 0;
  for (int64_t g = 1; g < source->tables().recordings[0].graphs; ++g) {
    if (source->frames(g).size() > 0) continue;
    ++empty;
    EXPECT_EQ(times.last_frame[static_cast<size_t>(g)], times.last_frame[static_cast<size_t>(g - 1)]);
  }
  EXPECT_GT(empty, 0);
}

}  // namespace
}  // namespace plimsoll

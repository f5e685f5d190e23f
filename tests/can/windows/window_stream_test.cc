#include "can/windows/window_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>

#include "base/error.h"
#include "can/capture/ingest.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

// Compares the windows of a stream, fed in chunks of any size, with those that open_windows() makes of the
// same frames.
class AWindowStream : public testing::Test {
 protected:
  FramesView make(const std::vector<int>& lengths) {
    std::mt19937 random(3);
    std::filesystem::create_directories(folder_ / "in" / "train");
    for (size_t r = 0; r < lengths.size(); ++r) {
      std::ofstream file(folder_ / "in" / "train" / ("r" + std::to_string(r) + ".csv"));
      double time = 100;
      for (int i = 0; i < lengths[r]; ++i) {
        time += random() % 400 == 0 ? 0.4 : static_cast<double>(random() % 1000) * 2e-6;
        if (random() % 50 == 0) time -= 0.001;
        file << std::fixed << time << "," << std::hex << random() % 60 << "," << random() % 65536 + 65536
             << std::dec << "," << (random() % 300 == 0) << "\n";
      }
    }
    ingest_can({.sources = {folder_ / "in"}, .out = folder_ / "frames"}, [](int64_t, int64_t) {});
    return FramesView(folder_ / "frames");
  }

  static void expect_equal(const GraphBlock& found, const GraphBlock& expected) {
    EXPECT_EQ(found.x, expected.x);
    EXPECT_EQ(found.edges, expected.edges);
    EXPECT_EQ(found.edge_attr, expected.edge_attr);
    EXPECT_EQ(found.y, expected.y);
  }

  static void expect_equal(const FrameStatistics& found, const FrameStatistics& expected) {
    EXPECT_EQ(found.steps, expected.steps);
    EXPECT_EQ(found.extra, expected.extra);
    EXPECT_EQ(found.checksum, expected.checksum);
    EXPECT_EQ(found.apart, expected.apart);
    EXPECT_EQ(found.held, expected.held);
    EXPECT_EQ(found.restless, expected.restless);
    EXPECT_EQ(found.silence, expected.silence);
  }

  void compare(const FramesView& frames, const WindowOptions& options, const TrainedContext& known = {},
               unsigned max = 900) {
    const auto source = open_windows(frames, options, known);
    WindowStream stream(
        options, {source->tables().vocabulary,
                  BehaviourProfile::from_tensors(source->learned(), source->tables().vocabulary.channels)});
    std::mt19937 random(7);
    int64_t graph = 0;
    for (const Recording& recording : frames.recordings()) {
      stream.begin({recording.has_time, recording.has_payload, frames.frames().width});
      const int64_t first_graph = graph;
      GraphBlock expected;
      StreamedWindow window;
      FrameScorers scorers;
      const auto take = [&] {
        while (stream.next(window)) {
          ASSERT_LT(graph, source->graphs());
          const int64_t graphs[] = {graph};
          source->read(graphs, expected);
          expect_equal(stream.graph(), expected);
          if (options.features == WindowFeatures::behaviour) {
            ASSERT_EQ(std::ssize(stream.node_ids()), expected.nodes());
            expect_equal(stream.frame_statistics(), source->frame_statistics(graphs, scorers)[0]);
          }
          const FrameSpans seen = source->frames(graph);
          ASSERT_EQ(window.number, graph - first_graph);
          ASSERT_EQ(window.frames, seen.size());
          ASSERT_TRUE(std::ranges::equal(stream.frames().time_ns, seen.time_ns));
          if (window.frames > 0) {
            ASSERT_EQ(
                &frames.frames().time_ns[static_cast<size_t>(recording.first_frame + window.first_frame)],
                seen.time_ns.data());
            ASSERT_EQ(window.time_ns, seen.time_ns.back());
          }
          ++graph;
        }
      };
      for (int64_t at = 0; at < recording.frames;) {
        const int64_t count =
            std::min<int64_t>(recording.frames - at, random() % 3 == 0 ? 1 : random() % max);
        ASSERT_EQ(stream.add(frames.frames().part(recording.first_frame + at, count), recording.channels),
                  count);
        at += count;
        take();
      }
      stream.end();
      take();
    }
    EXPECT_EQ(graph, source->graphs());
  }
  TempFolder folder_;
};

TEST_F(AWindowStream, GivesTheCompatGraphsOfARecording) {
  const FramesView frames = make({1, 2, 99, 100, 101, 5000, 5001, 5102, 12'345});
  compare(frames, {.features = WindowFeatures::compat});
  compare(frames, {.features = WindowFeatures::compat, .window = 64, .stride = 7});
  compare(frames, {.features = WindowFeatures::compat, .window = 30, .stride = 250});
}

TEST_F(AWindowStream, GivesTheBehaviourGraphsOfARecording) {
  const FramesView frames = make({1, 99, 100, 101, 150, 2100, 9'500});
  compare(frames, {.features = WindowFeatures::behaviour});
  compare(frames, {.features = WindowFeatures::behaviour, .window = 70, .stride = 13});
  compare(frames, {.features = WindowFeatures::behaviour, .window = 50, .stride = 170});
}

TEST_F(AWindowStream, GivesTheGraphsOfWindowsByTime) {
  const FramesView frames = make({1, 2, 100, 9'500});
  constexpr int64_t kMs = 1'000'000;
  compare(frames, {.features = WindowFeatures::behaviour,
                   .window = 50 * kMs,
                   .stride = 50 * kMs,
                   .unit = WindowUnit::nanoseconds});
  compare(frames, {.features = WindowFeatures::behaviour,
                   .window = 60 * kMs,
                   .stride = 25 * kMs,
                   .unit = WindowUnit::nanoseconds});
  compare(frames, {.features = WindowFeatures::behaviour,
                   .window = 5 * kMs,
                   .stride = 30 * kMs,
                   .unit = WindowUnit::nanoseconds});
}

// Some added frames are only revealed by frames of the next window.
TEST_F(AWindowStream, LooksAheadAsFarAsARecordingThatIsRead) {
  std::filesystem::create_directories(folder_ / "in" / "train");
  std::filesystem::create_directories(folder_ / "in" / "test");
  for (const bool attacked : {false, true}) {
    std::ofstream file(folder_ / "in" / (attacked ? "test/b.csv" : "train/a.csv"));
    for (int i = 0; i < 9'000; ++i) {  // There are ten IDs, each every 10 ms.
      file << fmt::format("{:.6f},{:X},AB,0\n", i / 1000.0 + i * 37 % 100 * 1e-6, 256 + i % 10);
      if (attacked &&
          i % 41 == 0)  // The frame comes long after the last frame of this ID and shortly before the next.
        file << fmt::format("{:.6f},{:X},AB,1\n", i / 1000.0 + 200e-6, 256 + (i + 1) % 10);
    }
  }
  ingest_can({.sources = {folder_ / "in"}, .out = folder_ / "frames"}, [](int64_t, int64_t) {});
  const FramesView frames(folder_ / "frames");
  constexpr int64_t kMs = 1'000'000;
  const Recording& benign = *std::ranges::find(frames.recordings(), "train", &Recording::split);
  const FrameWindow run{&benign, benign.first_frame, benign.frames};
  TrainedContext known{{}, BehaviourProfile::learn(frames.frames(), {&run, 1})};
  known.vocabulary = known.profile->vocabulary().ids();
  compare(frames, {.features = WindowFeatures::behaviour, .window = 50, .stride = 50}, known, 9);
  compare(frames,
          {.features = WindowFeatures::behaviour,
           .window = 50 * kMs,
           .stride = 50 * kMs,
           .unit = WindowUnit::nanoseconds},
          known, 9);
}

// The second recording has the channels in another order, and one that is not in the training data.
TEST_F(AWindowStream, GivesTheGraphsOfMergedChannels) {
  std::filesystem::create_directories(folder_ / "in" / "train");
  std::filesystem::create_directories(folder_ / "in" / "test");
  std::mt19937 random(3);
  for (const auto& [name, first] : {std::pair{"train/a.log", 0}, std::pair{"test/b.log", 1}}) {
    std::ofstream file(folder_ / "in" / name);
    for (int i = 0; i < 9'000; ++i)
      file << fmt::format("({}.{:06}) can{} {:03X}#{:04X}\n", i / 4000, i % 4000 * 250,
                          i < 3 || first == 0 ? (i + first) % 2 : random() % 3, random() % 30,
                          random() % 65536);
  }
  ingest_can({.sources = {folder_ / "in"},
              .out = folder_ / "frames",
              .format = {.merge_channels = true, .benign = true}},
             [](int64_t, int64_t) {});
  const FramesView frames(folder_ / "frames");
  ASSERT_EQ(frames.recordings()[0].channels, (std::vector<std::string>{"can1", "can0", "can2"}));
  const WindowOptions options{.features = WindowFeatures::behaviour, .window = 100, .stride = 70};
  compare(frames, options);
  compare(frames, {.features = WindowFeatures::behaviour,
                   .window = 50'000'000,
                   .stride = 20'000'000,
                   .unit = WindowUnit::nanoseconds});
  const auto source = open_windows(frames, options);
  EXPECT_EQ(source->tables().vocabulary.channels, (std::vector<std::string>{"can0", "can1"}));
  EXPECT_EQ(source->tables().vocabulary.size(), 60);
  EXPECT_THROW(open_windows(frames, {.features = WindowFeatures::compat}), UsageError);
}

TEST_F(AWindowStream, RefusesFramesThatTellNoChannelWhereTheyAreMergedAndTheOtherWayRound) {
  const FramesView frames = make({500});
  const auto source = open_windows(frames, {.features = WindowFeatures::behaviour});
  const BehaviourProfile profile = *BehaviourProfile::from_tensors(source->learned());
  const std::vector<uint8_t> channel(500, 0);
  FrameSpans merged = frames.frames();
  merged.channel = channel;
  WindowStream of_one({.features = WindowFeatures::behaviour}, {source->tables().vocabulary, profile});
  of_one.begin({});
  EXPECT_THROW(of_one.add(merged, {"can0"}), InputError);
  const TrainedContext known{{source->tables().vocabulary.keys, {"can0"}},
                             BehaviourProfile::from_tensors(source->learned(), {"can0"})};
  WindowStream of_merged({.features = WindowFeatures::behaviour}, known);
  of_merged.begin({});
  EXPECT_THROW(of_merged.add(frames.frames()), InputError);
  EXPECT_EQ(of_merged.add(merged, {"can0"}), 500);
  EXPECT_THROW(open_windows(frames, {.features = WindowFeatures::behaviour}, known), InputError);
}

// IDs are sent every 10 ms; some fall silent for a while, and come back.
TEST_F(AWindowStream, GivesTheIdsThatAreOverdue) {
  std::filesystem::create_directories(folder_ / "in" / "train");
  std::filesystem::create_directories(folder_ / "in" / "test");
  for (const char* split : {"train", "test"}) {
    std::ofstream file(folder_ / "in" / split / "r.csv");
    for (int i = 0; i < 12'000; ++i) {
      const bool silent = i > 5'000 && i % 10 < 4 && i / 3'000 % 2 == 1;
      if (*split == 't' && split[1] == 'e' && silent) continue;
      file << std::fixed << 100 + i * 0.001 << "," << std::hex << i % 10 << ",0A" << std::dec << ",0\n";
    }
  }
  ingest_can({.sources = {folder_ / "in"}, .out = folder_ / "frames"}, [](int64_t, int64_t) {});
  const FramesView frames(folder_ / "frames");
  for (const WindowOptions& options :
       {WindowOptions{.features = WindowFeatures::behaviour, .window = 100, .stride = 70},
        WindowOptions{.features = WindowFeatures::behaviour, .window = 50, .stride = 170},
        WindowOptions{.features = WindowFeatures::behaviour,
        .window = 50'000'000,
        .stride = 20'000'000,
        .unit = WindowUnit::nanoseconds}}) {
    compare(frames, options);
    const auto source = open_windows(frames, options);
    GraphBlock block;
    int64_t overdue = 0;
    for (int64_t g = 0; g < source->graphs(); ++g) {
      source->read(std::vector<int64_t>{g}, block);
      const auto ids = source->frames(g).can_id;
      overdue += block.nodes() - std::ssize(std::set<uint32_t>(ids.begin(), ids.end()));
    }
    EXPECT_GT(overdue, 20);
  }
}

TEST_F(AWindowStream, LeavesFramesOfAnotherRecordingToTheCaller) {
  const FramesView frames = make({3'000});
  const WindowOptions options{.features = WindowFeatures::behaviour,
                              .window = 50'000'000,
                              .stride = 50'000'000,
                              .unit = WindowUnit::nanoseconds};
  const auto source = open_windows(frames, options);
  const BehaviourProfile profile = *BehaviourProfile::from_tensors(source->learned());
  WindowStream stream(options, {source->tables().vocabulary, profile});
  for (const int64_t jump : {int64_t{3600}, int64_t{-11}}) {
    stream.begin({});
    FrameBatch batch;
    const FrameSpans all = frames.frames();
    for (int64_t f = 0; f < all.size(); ++f) {
      const auto at = static_cast<size_t>(f);
      batch.time_ns.push_back(all.time_ns[at] + (f >= 2'000 ? jump * 1'000'000'000 : 0));
    }
    FrameSpans moved = all;
    moved.time_ns = batch.time_ns;
    EXPECT_EQ(stream.add(moved), 2'000);
    stream.begin({});
    EXPECT_EQ(stream.add(moved.part(2'000, 1'000)), 1'000);
  }
}

// The bus slept, or the clock was set: later frames cannot be compared with earlier ones.
TEST_F(AWindowStream, BeginsAnotherRecordingAfterALongSilenceAndAClockSetBack) {
  constexpr int64_t kS = 1'000'000'000;
  const FramesView frames = make({200});
  const WindowOptions options{WindowFeatures::behaviour, 10, 10, WindowUnit::frames, {}, {}};
  const auto source = open_windows(frames, options);
  const auto taken = [&](int64_t pause, bool has_time = true) {
    WindowStream stream(options,
                        {source->tables().vocabulary, BehaviourProfile::from_tensors(source->learned())});
    stream.begin({.has_time = has_time});
    FrameBatch batch;
    for (int64_t f = 0; f < 60; ++f) {
      batch.time_ns.push_back(100 * kS + f * 1'000'000 + (f >= 35 ? pause : 0));
      batch.can_id.push_back(5);
      batch.length.push_back(8);
      batch.label.push_back(0);
      batch.data.resize(batch.data.size() + kPayloadBytes, 0);
    }
    return stream.add(batch.spans());
  };
  EXPECT_EQ(taken(0), 60);
  EXPECT_EQ(taken(59 * kS), 60) << "that silence is one to tell of";
  EXPECT_EQ(taken(61 * kS), 35);
  EXPECT_EQ(taken(-9 * kS), 60);
  EXPECT_EQ(taken(-11 * kS), 35);
  EXPECT_EQ(taken(-11 * kS, false), 60) << "there are no times";
}

TEST_F(AWindowStream, RefusesWhatItCannotCompareWith) {
  EXPECT_THROW(WindowStream({.features = WindowFeatures::behaviour}, {{{1, 2}}, {}}), InputError);
  EXPECT_THROW(WindowStream({.features = WindowFeatures::compat}, {}), InputError);
  const FramesView frames = make({500});
  const WindowOptions options{.features = WindowFeatures::behaviour,
                              .window = 50'000'000,
                              .stride = 50'000'000,
                              .unit = WindowUnit::nanoseconds};
  const auto source = open_windows(frames, options);
  WindowStream stream(options,
                      {source->tables().vocabulary, BehaviourProfile::from_tensors(source->learned())});
  EXPECT_THROW(stream.begin({.has_time = false}), InputError);
}

}  // namespace
}  // namespace plimsoll

#include "can/windows/windows.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "base/error.h"
#include "can/capture/ingest.h"
#include "can/windows/windows_set.h"
#include "io/file.h"
#include "memory/ledger.h"
#include "sample/block/graph_set_source.h"
#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

// Random recordings of given lengths as a frames set. tests/python compares the bits with the NumPy twin.
class Windows : public ::testing::Test {
 protected:
  FramesView make(const std::vector<int>& lengths) {
    std::mt19937 random(3);
    for (size_t r = 0; r < lengths.size(); ++r) {
      const auto folder = folder_ / "in" / (r % 2 == 0 ? "train_a" : "test_a");
      std::filesystem::create_directories(folder);
      std::ofstream file(folder / ("r" + std::to_string(r) + "-1.csv"));
      for (int i = 0; i < lengths[r]; ++i)
        file << i << ".5," << std::hex << random() % 40 << "," << (random() % 256 < 16 ? "" : "AB")
             << std::dec << "," << (random() % 300 == 0) << "\n";
    }
    ingest_can({.sources = {folder_ / "in"}, .out = folder_ / "frames"}, [](int64_t, int64_t) {});
    return FramesView(folder_ / "frames");
  }
  TempFolder folder_;
};

TEST_F(Windows, CountsFollowTheChunkAndWindowRules) {
  // Recordings are in the order of split and name: test_a holds recordings 1 and 3. Each chunk of 5000 frames
  // has one row fewer than frames.
  const FramesView frames = make({101, 1, 100, 5001, 10100});
  const auto source = open_windows(frames, {});
  std::vector<int64_t> graphs;
  for (const GraphRange& recording : source->tables().recordings) graphs.push_back(recording.graphs);
  EXPECT_EQ(graphs, (std::vector<int64_t>{0, 49, 1, 1, 100}));
  EXPECT_EQ(source->graphs(), 151);
  EXPECT_EQ(source->tables().splits.size(), 2);
  EXPECT_EQ(source->frames(49).size(), 101);  // It has 100 rows, plus the target of the last one.
  EXPECT_EQ(source->frames(50).size(), 100);  // A short recording has 99 rows.
}

TEST_F(Windows, AGraphIsTheSameAloneAndInAnyBlock) {
  const FramesView frames = make({7000, 2000});
  const auto source = open_windows(frames, {});
  const std::vector<int64_t> graphs = {30, 2, 51, 7};
  GraphBlock together;
  source->read(graphs, together);
  for (size_t i = 0; i < graphs.size(); ++i) {
    GraphBlock alone;
    source->read(std::span(&graphs[i], 1), alone);
    const auto first = static_cast<size_t>(together.node_ptr[i]);
    ASSERT_EQ(alone.nodes(), together.node_ptr[i + 1] - together.node_ptr[i]);
    EXPECT_TRUE(
        std::equal(alone.x.begin(), alone.x.end(), together.x.begin() + static_cast<int64_t>(first) * 11));
    EXPECT_EQ(alone.y[0], together.y[i]);
  }
}

TEST_F(Windows, TheGraphSetIsTheSameBytesForAnyNumberOfThreads) {
  const FramesView frames = make({60'000, 30'000});
  const auto source = open_windows(frames, {});
  for (const int threads : {1, 2, 4})
    write_graph_set(*source, folder_ / ("out" + std::to_string(threads)), false, {}, threads,
                    [](int64_t, int64_t) {});
  for (const char* file :
       {"node_ptr.npy", "edge_ptr.npy", "x.npy", "edges.npy", "edge_attr.npy", "y.npy", "manifest.json"}) {
    const std::string expected = read_text(folder_ / "out1" / file);
    EXPECT_EQ(expected, read_text(folder_ / "out2" / file)) << file;
    EXPECT_EQ(expected, read_text(folder_ / "out4" / file)) << file;
  }
}

// Bytes needed to write graphs of 2,000 frames on one thread: in total, and for the thread's blocks of
// graphs.
struct Needed {
  int64_t all;
  int64_t blocks;
};

class LargeWindows : public Windows {
 protected:
  Needed write_on_one_thread() {
    Ledger& ledger = Ledger::process();
    const int64_t before = ledger.held();
    ledger.begin_recent();
    write("one", 1);
    return {ledger.recent_peak() - before, ledger.recent_peak(Tag::blocks) - ledger.held(Tag::blocks)};
  }
  void write(const std::string& name, int threads) {
    write_graph_set(*source_, folder_ / name, false, {}, threads, [&](int64_t done, int64_t graphs) {
      EXPECT_GT(done, done_ < graphs ? done_ : 0);
      done_ = done;
    });
    EXPECT_EQ(done_, source_->graphs());
  }
  void expect_same(const std::string& name) {
    for (const char* file :
         {"node_ptr.npy", "edge_ptr.npy", "x.npy", "edges.npy", "edge_attr.npy", "y.npy", "manifest.json"})
      EXPECT_EQ(read_text(folder_ / "one" / file), read_text(folder_ / name / file)) << file;
  }

  FramesView frames_ = make({16'000});
  std::unique_ptr<WindowSource> source_ = open_windows(frames_, {WindowFeatures::behaviour, 2000, 20});
  int64_t done_ = 0;
};

TEST_F(LargeWindows, AreTheSameBytesForAnyNumberOfThreadsInABudgetForOne) {
  const Needed needed = write_on_one_thread();
  const LedgerCap cap(needed.all);
  write("many", 16);
  expect_same("many");
}

TEST_F(LargeWindows, AreMadeOneByOneWhereABlockDoesNotFit) {
  const Needed needed = write_on_one_thread();
  for (const int threads : {1, 16}) {
    const LedgerCap cap(needed.all - needed.blocks * 7 / 8);
    write("tight" + std::to_string(threads), threads);
    expect_same("tight" + std::to_string(threads));
  }
}

TEST_F(LargeWindows, AreRefusedWhereOneDoesNotFit) {
  const Needed needed = write_on_one_thread();
  const LedgerCap cap(needed.all - needed.blocks);
  for (const int threads : {1, 16})
    EXPECT_THROW(write_graph_set(*source_, folder_ / "none", false, {}, threads, [](int64_t, int64_t) {}),
                 BudgetExceeded);
}

TEST_F(Windows, GraphsFromDiskEqualGraphsOnTheFly) {
  const FramesView frames = make({5000, 3000});
  const auto source = open_windows(frames, {});
  write_graph_set(*source, folder_ / "out", false, {}, 2, [](int64_t, int64_t) {});
  const GraphSetSource stored(folder_ / "out");
  ASSERT_EQ(stored.graphs(), source->graphs());
  const std::vector<int64_t> graphs = {0, 40, 13};
  GraphBlock a;
  GraphBlock b;
  source->read(graphs, a);
  stored.read(graphs, b);
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.edges, b.edges);
  EXPECT_EQ(a.edge_attr, b.edge_attr);
  EXPECT_EQ(a.node_ptr, b.node_ptr);
  EXPECT_EQ(a.y, b.y);
}

TEST_F(Windows, TheIdRuleFlagsWindowsWithAnUnknownId) {
  const FramesView frames = make({1000});
  const auto source = open_windows(frames, {});
  MessageIds known;
  for (uint32_t id = 0; id < 40; ++id) known.keys.push_back(id);
  for (const uint8_t verdict : unknown_id_rule(frames, *source, known)) EXPECT_EQ(verdict, 0);
  for (const uint8_t verdict : unknown_id_rule(frames, *source, {{1, 2, 3}})) EXPECT_EQ(verdict, 1);
}

// A set of two merged channels; a frame may have another channel, or be longer than its payload.
class UnsoundFrames : public ::testing::Test {
 protected:
  std::string refusal(uint8_t length, uint8_t channel) {
    const std::filesystem::path set = folder_ / "frames";
    {
      FrameBatch batch;
      for (int i = 0; i < 400; ++i) {
        batch.time_ns.push_back(i * 1'000'000);
        batch.can_id.push_back(0x100);
        batch.length.push_back(i == 7 ? length : 8);
        batch.data.insert(batch.data.end(), kPayloadBytes, 1);
        batch.label.push_back(0);
      }
      std::vector<uint8_t> channels(400, 1);
      channels[7] = channel;
      FrameSpans spans = batch.spans();
      spans.channel = channels;
      FramesWriter writer(set, true);
      writer.append(spans);
      Recording recording;
      recording.name = "r";
      recording.split = "train";
      recording.channels = {"can0", "can1"};
      writer.end_recording(recording);
      writer.publish(Json::object());
    }
    WindowsSetOptions options{
        .frames = set, .out = folder_ / "graphs", .windows = {WindowFeatures::behaviour}};
    const std::string error =
        error_text<InputError>([&] { make_windows_set(options, [](int64_t, int64_t) {}); });
    EXPECT_FALSE(std::filesystem::exists(options.out));
    EXPECT_NE(error.find(set.string()), std::string::npos);
    return error;
  }
  TempFolder folder_;
};

TEST_F(UnsoundFrames, AreRefusedBeforeASetIsMadeOfThem) {
  EXPECT_NE(refusal(8, 2).find("frame 7: channel 2"), std::string::npos);
  EXPECT_NE(refusal(200, 1).find("frame 7: length 200"), std::string::npos);
}

TEST_F(Windows, WhatMakesNoSenseIsRefused) {
  const FramesView frames = make({1000});
  EXPECT_THROW(open_windows(frames, {WindowFeatures::compat, 1, 1}), UsageError);
  EXPECT_THROW(open_windows(frames, {WindowFeatures::compat, 100, 0}), UsageError);
}

}  // namespace
}  // namespace plimsoll

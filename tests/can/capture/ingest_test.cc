#include "can/capture/ingest.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "io/file.h"
#include "memory/ledger.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {
namespace fs = std::filesystem;

constexpr const char* kHeader = "timestamp,arbitration_id,data_field,attack\n";

class Ingest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& lines) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << kHeader << lines;
  }
  IngestResult run(const std::string& out = "out", bool force = false, int threads = 2) const {
    return ingest_can({.sources = {folder_ / "in"}, .out = folder_ / out, .force = force, .threads = threads},
                      [](int64_t, int64_t) {});
  }
  // All files except the input.
  std::vector<std::string> outputs() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      if (entry.path().filename() != "in") names.push_back(entry.path().filename().string());
    return names;
  }
  TempFolder folder_;
};

TEST_F(Ingest, WritesRecordingsWithWhatTheyTell) {
  write("in/train_a/DoS-kia.csv", "1.0,110,AA,1\n2.0,111,BBCC,0\n");
  write("in/test_a/attack-free-kia.csv", "1.0,112,,0\n");
  const IngestResult result = run();
  ASSERT_EQ(result.recordings.size(), 2);
  const FramesView view(folder_ / "out");
  EXPECT_EQ(view.recordings()[0].path(), "test_a/attack-free-kia");
  EXPECT_EQ(view.recordings()[0].attack, std::nullopt);
  EXPECT_EQ(view.recordings()[1].attack, "DoS");
  EXPECT_EQ(view.recordings()[1].attack_frames, 1);
  EXPECT_EQ(view.recordings()[1].first_frame, 1);
  EXPECT_EQ(std::vector<uint32_t>(view.frames().can_id.begin(), view.frames().can_id.end()),
            (std::vector<uint32_t>{0x112, 0x110, 0x111}));
}

TEST_F(Ingest, CopiesAreFoundByContentNotByName) {
  write("in/train_a/one-1.csv", "1.0,110,AA,0\n2.0,111,BB,0\n");
  write("in/train_b/two-9.csv", "1.000,110,aa,0\r\n2.0,111,BB,0\n");
  write("in/train_b/unlike-1.csv", "1.0,110,AA,0\n2.0,111,BB,1\n");
  const IngestResult result = run();
  EXPECT_EQ(result.recordings[0].copy_of, std::nullopt);
  EXPECT_EQ(result.recordings[1].copy_of, "train_a/one-1");
  EXPECT_EQ(result.recordings[2].copy_of, std::nullopt);
}

TEST_F(Ingest, TheSameSourcesGiveTheSameBytes) {
  write("in/train_a/one-1.csv", "1.0,110,AA,0\n2.0,111,BB,0\n");
  run("first");
  run("second");
  for (const char* file :
       {"manifest.json", "time_ns.npy", "can_id.npy", "length.npy", "data.npy", "label.npy"})
    EXPECT_EQ(read_text(folder_ / "first" / file), read_text(folder_ / "second" / file)) << file;
}

TEST_F(Ingest, ManyPiecesAndFilesGiveTheSameBytesForAnyNumberOfThreads) {
  for (int file = 0; file < 3; ++file) {
    std::string lines;
    for (int i = 0; i < 70'000; ++i)
      lines += std::to_string(i % 90'000) + ".5,1" + std::to_string(i % 90 + 10) + ",AABB,0\n";
    write("in/train_a/long-" + std::to_string(file) + ".csv", lines + "5.0,111,00,1\n");
  }
  run("one", false, 1);
  run("four", false, 4);
  for (const char* column :
       {"manifest.json", "time_ns.npy", "can_id.npy", "length.npy", "data.npy", "label.npy"})
    EXPECT_EQ(read_text(folder_ / "one" / column), read_text(folder_ / "four" / column)) << column;
  const FramesView view(folder_ / "one");
  EXPECT_EQ(view.recordings()[2].frames, 70'001);
  EXPECT_EQ(view.recordings()[2].traps, (Json{{"time_runs_back", 1}}));
}

TEST_F(Ingest, ALineFarIntoAFileIsNamedByItsNumber) {
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += "1513920254.785127,110,D01C100900000000,0\n";
  write("in/train_a/long-1.csv", lines + "1513920254.785127,110,XX,0\n");
  for (const int threads : {1, 3}) {
    try {
      run("out", false, threads);
      FAIL() << "no error";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("long-1.csv:100002:23"), std::string::npos) << error.what();
    }
  }
}

TEST_F(Ingest, BadLinesAreSkippedUpToALimit) {
  write("in/train_a/one-1.csv", "1.0,110,AA,0\n1.1,XYZ,AA,0\n1.2,111,AA,5\n1.3,112,AA,1\n");
  IngestOptions options{
      .sources = {folder_ / "in"}, .out = folder_ / "out", .skip_errors = true, .skip_limit = 2};
  const Recording recording = ingest_can(options, [](int64_t, int64_t) {}).recordings.at(0);
  EXPECT_EQ(recording.frames, 2);
  EXPECT_EQ(recording.traps, (Json{{"skipped: expected 0 (normal) or 1 (attack)", 1},
                                   {"skipped: expected a CAN ID in hex", 1}}));
  options.out = folder_ / "other";
  options.skip_limit = 1;
  EXPECT_THROW(ingest_can(options, [](int64_t, int64_t) {}), InputError);
}

TEST_F(Ingest, WithoutTimesTheRowIsTheTime) {
  write("in/train_a/one-1.csv", "");
  std::ofstream(folder_ / "in/train_a/one-1.csv") << "04b0\n05a0\n0316\n";
  ingest_can({.sources = {folder_ / "in"},
              .out = folder_ / "out",
              .format = {.name = "table", .columns = {"id"}, .time = TimeUnit::none}},
             [](int64_t, int64_t) {});
  const FramesView view(folder_ / "out");
  EXPECT_EQ(std::vector<int64_t>(view.frames().time_ns.begin(), view.frames().time_ns.end()),
            (std::vector<int64_t>{0, 1, 2}));
  EXPECT_FALSE(view.recordings()[0].has_time);
  EXPECT_FALSE(view.recordings()[0].has_payload);
  EXPECT_FALSE(view.recordings()[0].labelled);
}

TEST_F(Ingest, FdFramesFillASetWithRoomForThem) {
  std::filesystem::create_directories(folder_ / "in/train_a");
  std::ofstream(folder_ / "in/train_a/fd-1.log")
      << "(1.0) can0 123##1" << std::string(128, 'A') << "\n(1.1) can0 124#01\n";
  EXPECT_THROW(run(), InputError);
  ingest_can({.sources = {folder_ / "in"}, .out = folder_ / "out", .format = {.payload = 64}},
             [](int64_t, int64_t) {});
  const FramesView view(folder_ / "out");
  EXPECT_EQ(view.frames().width, 64);
  EXPECT_EQ(view.frames().length[0], 64);
  EXPECT_EQ(view.frames().data[64], 1);
  EXPECT_EQ(view.recordings()[0].channel, "can0");
}

TEST_F(Ingest, EachChannelOfACaptureIsARecording) {
  std::filesystem::create_directories(folder_ / "in/train_a");
  // More frames than are spilled at once, and more than a piece of text holds.
  constexpr int kFrames = 60'000;
  {
    std::ofstream log(folder_ / "in/train_a/two-1.log");
    for (int i = 0; i < kFrames; ++i)
      log << fmt::format("({}.{:06}) can{} {:03X}#{:04X}\n", i / 1000, i % 1000 * 1000, i % 3 == 0 ? 7 : 1,
                         i % 3, i % 65536);
  }
  ingest_can({.sources = {folder_ / "in"}, .out = folder_ / "out", .threads = 3}, [](int64_t, int64_t) {});
  const FramesView view(folder_ / "out");
  ASSERT_EQ(view.recordings().size(), 2);
  EXPECT_EQ(view.recordings()[0].name, "two-1@can7");
  EXPECT_EQ(view.recordings()[1].name, "two-1@can1");
  EXPECT_EQ(view.recordings()[1].channel, "can1");
  EXPECT_EQ(view.recordings()[0].frames, kFrames / 3);
  EXPECT_EQ(view.recordings()[1].frames, kFrames * 2 / 3);
  int expected = 0;
  for (int64_t at = 0; at < kFrames / 3; ++at, expected += 3) {
    const auto f = static_cast<size_t>(at);
    ASSERT_EQ(view.frames().can_id[f], 0);
    ASSERT_EQ(view.frames().data[8 * f] * 256 + view.frames().data[8 * f + 1], expected % 65536);
  }
  expected = 1;
  for (int64_t at = kFrames / 3; at < kFrames; ++at, expected += expected % 3) {
    const auto f = static_cast<size_t>(at);
    ASSERT_EQ(view.frames().can_id[f], expected % 3);
    ASSERT_EQ(view.frames().time_ns[f], int64_t{expected} * 1'000'000);
    ASSERT_EQ(view.frames().data[8 * f] * 256 + view.frames().data[8 * f + 1], expected % 65536);
  }
  EXPECT_TRUE(view.recordings()[0].traps.empty());
}

TEST_F(Ingest, ChannelsOfACaptureAreMergedInItsOrder) {
  std::filesystem::create_directories(folder_ / "in/train_a");
  // More frames than a piece of text holds. One channel starts late, and one gets the name of another.
  constexpr int kFrames = 60'000;
  const std::vector<const char*> names = {"can7", "can1", "can2", "can9"};
  const auto name_of = [](int i) {
    return i > 50'000 && i % 10 == 0 ? size_t{3} : static_cast<size_t>(i % 3);
  };
  {
    std::ofstream log(folder_ / "in/train_a/many-1.log");
    for (int i = 0; i < kFrames; ++i)
      log << fmt::format("({}.{:06}) {} {:03X}#{:04X}\n", i / 1000, i % 1000 * 1000, names[name_of(i)], i % 5,
                         i % 65536);
  }
  const auto ingest = [&](const std::string& out, int threads) {
    ingest_can({.sources = {folder_ / "in"},
                .out = folder_ / out,
                .format = {.channel_names = {{"can1", "body"}, {"can2", "body"}}, .merge_channels = true},
                .threads = threads},
               [](int64_t, int64_t) {});
    return FramesView(folder_ / out);
  };
  const FramesView view = ingest("out", 3);
  ASSERT_EQ(view.recordings().size(), 1);
  EXPECT_EQ(view.recordings()[0].name, "many-1");
  EXPECT_EQ(view.recordings()[0].channel, std::nullopt);
  EXPECT_EQ(view.recordings()[0].channels, (std::vector<std::string>{"can7", "body", "can9"}));
  ASSERT_EQ(view.frames().size(), kFrames);
  const std::vector<uint8_t> number = {0, 1, 1, 2};
  for (int i = 0; i < kFrames; ++i) {
    const auto f = static_cast<size_t>(i);
    ASSERT_EQ(view.frames().channel[f], number[name_of(i)]) << i;
    ASSERT_EQ(view.frames().data[8 * f] * 256 + view.frames().data[8 * f + 1], i % 65536);
  }
  EXPECT_EQ(ingest("again", 1).set().manifest(), view.set().manifest());
}

TEST_F(Ingest, WhatTellsNoChannelsHasNoneToMerge) {
  write("in/train_a/one-1.csv", "1.0,110,AA,0\n");
  const std::string text = error_text<InputError>([&] {
    ingest_can({.sources = {folder_ / "in"}, .out = folder_ / "out", .format = {.merge_channels = true}},
               [](int64_t, int64_t) {});
  });
  EXPECT_NE(text.find("one-1.csv: this format records no channel"), std::string::npos) << text;
}

TEST_F(Ingest, AnErrorLeavesNothingHalfMade) {
  write("in/train_a/one-1.csv", "1.0,110,AA,0\n");
  write("in/train_b/broken-1.csv", "1.0,110,AA,0\n1.0,11\n");
  EXPECT_THROW(run(), InputError);
  EXPECT_EQ(outputs(), std::vector<std::string>{});
}

TEST_F(Ingest, AnErrorKeepsWhatWasThere) {
  write("in/train_a/one-1.csv", "1.0,110,AA,0\n");
  run();
  const std::string before = read_text(folder_ / "out" / "manifest.json");
  write("in/train_a/one-1.csv", "1.0,110,AA,7\n");
  EXPECT_THROW(run("out", true), InputError);
  EXPECT_EQ(read_text(folder_ / "out" / "manifest.json"), before);
  EXPECT_EQ(outputs(), std::vector<std::string>{"out"});
}

TEST_F(Ingest, AnExistingOutputIsKeptReplacedOrRefused) {
  write("in/train_a/one-1.csv", "1.0,110,AA,0\n");
  run();
  EXPECT_TRUE(run().already_there);
  write("in/train_a/one-1.csv", "1.0,110,AB,0\n");
  EXPECT_THROW(run(), Failure);
  EXPECT_FALSE(run("out", true).already_there);
  EXPECT_EQ(FramesView(folder_ / "out").frames().data[0], 0xAB);
  EXPECT_EQ(outputs(), std::vector<std::string>{"out"});
}

TEST_F(Ingest, AFileWithoutFramesIsAnError) {
  write("in/train_a/one-1.csv", "");
  EXPECT_THROW(run(), InputError);
}

TEST_F(Ingest, ALineThatNeverEndsIsAnError) {
  write("in/train_a/one-1.csv", std::string(3 << 20, '1'));
  EXPECT_THROW(run(), InputError);
}

TEST_F(Ingest, MemoryDoesNotGrowWithTheInput) {
  std::string lines;
  for (int i = 0; i < 300'000; ++i) lines += "1513920254.785127,110,D01C100900000000,0\n";
  write("in/train_a/long-1.csv", lines);
  Ledger& ledger = Ledger::process();
  const int64_t before = ledger.held();
  ledger.begin_recent();
  run();
  EXPECT_LT(ledger.recent_peak() - before, int64_t{16} << 20);
  EXPECT_EQ(ledger.held(), before);
}

TEST_F(Ingest, ABudgetThatIsTooSmallIsATypedErrorAndLeavesNothing) {
  write("in/train_a/one-1.csv", "1.0,110,AA,0\n");
  Ledger& ledger = Ledger::process();
  const int64_t before = ledger.held();
  ledger.set_cap(before + (1 << 20));
  EXPECT_THROW(run(), BudgetExceeded);
  ledger.set_cap(Ledger::kUnlimited);
  EXPECT_EQ(outputs(), std::vector<std::string>{});
  EXPECT_EQ(ledger.held(), before);
}

}  // namespace
}  // namespace plimsoll

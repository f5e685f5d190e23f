#include "can/simulate/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "can/capture/ingest.h"
#include "io/file.h"
#include "memory/ledger.h"
#include "store/split_name.h"
#include "store/verify.h"
#include "support/names_in.h"
#include "support/temp_folder.h"
#include "support/write_bytes.h"

namespace plimsoll {
namespace {
namespace fs = std::filesystem;

const std::vector<AttackKind> kSix = parse_attacks("DoS,fuzzing,spoofing,replay,suppression,masquerade");
constexpr std::array<const char*, 5> kColumns = {"time_ns.npy", "can_id.npy", "length.npy", "data.npy",
                                                 "label.npy"};

class Simulate : public ::testing::Test {
 protected:
  SimulateOptions options(const std::string& out, int64_t frames = 100'000) const {
    return {.out = folder_ / out, .frames = frames, .attacks = kSix};
  }
  static SimulateResult run(const SimulateOptions& options) {
    return simulate_can(options, [](int64_t, int64_t) {});
  }
  void expect_same_columns(const std::string& a, const std::string& b) const {
    for (const char* file : kColumns)
      EXPECT_EQ(read_text(folder_ / a / file), read_text(folder_ / b / file)) << file;
  }
  TempFolder folder_;
};

TEST_F(Simulate, SplitsAreThoseOfARealCollection) {
  const auto recordings = simulated_recordings(options("x"));
  std::map<std::string, std::set<std::string>> attacks;
  std::map<std::string, std::set<uint32_t>> vehicles;
  int64_t frames = 0;
  for (const SimulatedRecording& recording : recordings) {
    const std::string split = recording.split.substr(0, recording.split.find('_', 6));
    attacks[split].insert(recording.attack ? attack_name(*recording.attack) : "none");
    vehicles[split].insert(recording.vehicle);
    frames += recording.frames;
    EXPECT_EQ(recording.name,
              (recording.attack ? attack_name(*recording.attack) : std::string("attack-free")) + "-" +
                  std::to_string(recording.vehicle + 1));
  }
  const std::set<std::string> known = {"DoS", "fuzzing", "spoofing", "replay"};
  EXPECT_EQ(frames, 100'000);
  EXPECT_EQ(attacks["train_01"], std::set<std::string>{"none"});
  EXPECT_EQ(attacks["train_02"], known);
  EXPECT_EQ(attacks["test_01"], known);
  EXPECT_EQ(attacks["test_02"], known);
  EXPECT_EQ(attacks["test_03"], (std::set<std::string>{"suppression", "masquerade"}));
  EXPECT_EQ(vehicles["test_02"], std::set<uint32_t>{2});
  for (const char* split : {"train_01", "train_02", "test_01", "test_03"})
    EXPECT_EQ(vehicles[split], (std::set<uint32_t>{0, 1})) << split;
}

TEST_F(Simulate, TheSameOptionsGiveTheSameBytes) {
  run(options("a"));
  run(options("b"));
  expect_same_columns("a", "b");
  EXPECT_EQ(read_text(folder_ / "a" / "manifest.json"), read_text(folder_ / "b" / "manifest.json"));
  SimulateOptions other = options("c");
  other.seed = 2;
  run(other);
  EXPECT_NE(read_text(folder_ / "a" / "data.npy"), read_text(folder_ / "c" / "data.npy"));
}

TEST_F(Simulate, FramesAreAsManyAsAskedForInOrderOfTimeAndSound) {
  const SimulateResult result = run(options("a", 123'457));
  EXPECT_EQ(result.frames, 123'457);
  EXPECT_EQ(verify_data_set(folder_ / "a"), std::vector<std::string>{});
  const FramesView view(folder_ / "a");
  EXPECT_EQ(view.frames().size(), 123'457);
  int64_t attacks = 0;
  for (const Recording& recording : view.recordings()) {
    const FrameSpans part = view.frames().part(recording.first_frame, recording.frames);
    EXPECT_TRUE(std::is_sorted(part.time_ns.begin(), part.time_ns.end())) << recording.path();
    attacks += recording.attack_frames;
    const bool labels = recording.attack && recording.attack != "suppression";
    EXPECT_EQ(recording.attack_frames > 0, labels) << recording.path();
    EXPECT_EQ(recording.copy_of, std::nullopt);
  }
  EXPECT_EQ(attacks, result.attack_frames);
}

TEST_F(Simulate, ByWayOfTheCsvTheColumnsAreTheSame) {
  run(options("frames"));
  SimulateOptions csv = options("csv");
  csv.captures = &written_format("csv");
  run(csv);
  IngestOptions ingest;
  ingest.sources = {folder_ / "csv"};
  ingest.out = folder_ / "ingested";
  ingest_can(ingest, [](int64_t, int64_t) {});
  expect_same_columns("frames", "ingested");
  const auto made = FramesView(folder_ / "frames").recordings();
  const auto read = FramesView(folder_ / "ingested").recordings();
  ASSERT_EQ(made.size(), read.size());
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(made[i].path(), read[i].path());
    EXPECT_EQ(made[i].content, read[i].content);
    EXPECT_EQ(made[i].attack, read[i].attack);
    EXPECT_EQ(made[i].attack_frames, read[i].attack_frames);
  }
}

TEST_F(Simulate, CandumpLogsLieInFoldersOfTheirSplits) {
  SimulateOptions candump = options("log", 1'000);
  candump.captures = &written_format("candump");
  run(candump);
  EXPECT_EQ(names_in(folder_ / "log").size(), 5U);
  const std::string text = read_text(folder_ / "log" / "train_01_attack_free" / "attack-free-1.log");
  EXPECT_EQ(text.substr(0, 12), "(1616000000.");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1'000 * 4 / 32);
}

TEST_F(Simulate, AnExistingOutputIsKeptReplacedOrRefused) {
  run(options("a", 1'000));
  EXPECT_TRUE(run(options("a", 1'000)).already_there);
  EXPECT_THROW(run(options("a", 2'000)), Failure);
  SimulateOptions force = options("a", 2'000);
  force.force = true;
  EXPECT_FALSE(run(force).already_there);
  EXPECT_EQ(FramesView(folder_ / "a").frames().size(), 2'000);

  force.captures = &written_format("csv");
  force.out = folder_ / "t";
  run(force);
  SimulateOptions again = force;
  again.force = false;
  EXPECT_THROW(run(again), Failure);
  run(force);
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"a", "t"}));
}

TEST_F(Simulate, WithoutAttacksThereIsTrainingTrafficAlone) {
  SimulateOptions none = options("a", 1'000);
  none.attacks.clear();
  EXPECT_EQ(run(none).attack_frames, 0);
  EXPECT_EQ(FramesView(folder_ / "a").recordings().size(), 2U);
}

TEST_F(Simulate, WhatMakesNoSenseIsRefused) {
  EXPECT_THROW(run(options("a", 31)), UsageError);
  EXPECT_THROW(run(options("a", 10'000'000'001)), UsageError);
  SimulateOptions lonely = options("a");
  lonely.vehicles = 1;
  EXPECT_THROW(run(lonely), UsageError);
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{});
}

TEST_F(Simulate, MemoryDoesNotGrowWithTheFrames) {
  Ledger& ledger = Ledger::process();
  const int64_t before = ledger.held();
  std::vector<int64_t> peaks;
  for (const int64_t frames : {1'000'000, 3'000'000}) {
    ledger.begin_recent();
    run(options("a" + std::to_string(frames), frames));
    peaks.push_back(ledger.recent_peak() - before);
    EXPECT_EQ(ledger.held(), before);
  }
  // The numbers of waiting frames may differ.
  EXPECT_NEAR(static_cast<double>(peaks[0]), static_cast<double>(peaks[1]), 16 << 10);
  EXPECT_LT(peaks[0], int64_t{4} << 20);
}

TEST_F(Simulate, ThereAreMoreAttacksThanByDefault) {
  SimulateOptions more = options("a");
  more.attacks = parse_attacks("injection,flooding");
  run(more);
  EXPECT_EQ(verify_data_set(folder_ / "a"), std::vector<std::string>{});
  const FramesView view(folder_ / "a");
  for (const Recording& recording : view.recordings())
    EXPECT_EQ(recording.attack_frames > 0, recording.attack.has_value()) << recording.path();
}

}  // namespace
}  // namespace plimsoll

#include "telemetry/run_status.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

class RunStatusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(run_ / "seed-42/gat");
    std::ofstream(run_ / "manifest.json") << R"({"kind": "run"})";
    std::ofstream(run_ / "run.lock") << "process 77 on here\n";
    fs::create_directories(root_ / "proc/77/fd");
    fs::create_symlink(run_ / "run.lock", root_ / "proc/77/fd/5");
    std::ofstream(root_ / "proc/77/status")
        << "Name:\tplimsoll-train\nRssAnon:\t   2048 kB\nRssFile:\t 1024 kB\n";
  }
  void add(const std::string& line) {
    std::ofstream(run_ / "seed-42/gat/events.jsonl", std::ios::app) << line;
  }

  TempFolder folder_;
  const fs::path run_ = folder_ / "run";
  const fs::path root_ = folder_ / "root";
};

TEST_F(RunStatusTest, FindsRunsByTheLocksThatProcessesHoldOpen) {
  const std::vector<LiveRun> runs = find_live_runs(root_.string());
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].folder, run_);
  EXPECT_EQ(runs[0].process, 77);
  fs::remove(root_ / "proc/77/fd/5");
  EXPECT_TRUE(find_live_runs(root_.string()).empty());
}

TEST_F(RunStatusTest, LeavesOutARunThatAnotherOneReplaces) {
  const fs::path aside = folder_ / ".run.old.77";
  fs::create_directories(aside);
  std::ofstream(aside / "manifest.json") << R"({"kind": "run"})";
  std::ofstream(aside / "run.lock") << "process 77 on here\n";
  fs::create_symlink(aside / "run.lock", root_ / "proc/77/fd/4");
  const std::vector<LiveRun> runs = find_live_runs(root_.string());
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].folder, run_);
}

TEST_F(RunStatusTest, TellsWhatTheJournalSaidLastAndWhatTheProcessHolds) {
  add(R"({"time":1,"event":"start","budget_bytes":100})"
      "\n"
      R"({"time":2,"event":"progress","done":3})"
      "\n"
      R"({"time":3,"event":"epoch","epoch":1})"
      "\n");
  RunStatus status(run_, root_.string());
  Json now = status.look(77);
  EXPECT_EQ(now.at("state"), "running");
  EXPECT_EQ(now.at("stage"), "seed-42/gat");
  EXPECT_EQ(now.at("start").at("budget_bytes"), 100);
  EXPECT_EQ(now.at("memory").at("anonymous_bytes"), 2048 * 1024);
  add(R"({"time":4,"event":"progress","done":9})"
      "\n"
      R"({"time":5,"event":"prog)");  // This line is not whole yet.
  now = status.look(77);
  EXPECT_EQ(now.at("progress").at("done"), 9);
  EXPECT_EQ(now.at("time"), 4);
}

TEST_F(RunStatusTest, SaysHowARunEnded) {
  RunStatus status(run_, root_.string());
  EXPECT_EQ(status.look(0).at("state"), "not started");
  EXPECT_EQ(status.look(77).at("state"), "starting");
  add("{\"time\":1,\"event\":\"start\"}\n");
  EXPECT_EQ(status.look(0).at("state"), "killed");
  add("{\"time\":2,\"event\":\"interrupted\"}\n");
  EXPECT_EQ(status.look(0).at("state"), "interrupted");
  add("{\"time\":3,\"event\":\"resume\"}\n");
  EXPECT_EQ(status.look(77).at("state"), "running");
  add("{\"time\":4,\"event\":\"end\"}\n");
  EXPECT_EQ(status.look(77).at("state"), "running");  // Another stage may follow.
  EXPECT_EQ(status.look(0).at("state"), "done");
}

TEST_F(RunStatusTest, PassesOverLinesThatAreNoObjects) {
  add("nonsense\n[1]\n{\"time\":\"late\",\"event\":\"start\"}\n{\"event\":7}\n");
  RunStatus status(run_, root_.string());
  EXPECT_EQ(status.look(0).at("state"), "killed");
}

}  // namespace
}  // namespace plimsoll

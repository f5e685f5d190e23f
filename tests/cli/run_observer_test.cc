// An observer of a run is notified of its stage, start and progress, and what the observer returns is in the
// manifest.

#include <gmock/gmock.h>

#include "base/json.h"
#include "engine/plan/warm_up.h"
#include "io/file.h"
#include "memory/ledger.h"
#include "ops/allocator.h"
#include "run/train_run.h"
#include "support/task_data.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;

// Records the calls in order, and progress, which is frequent, only once.
class CallRecorder final : public RunObserver {
 public:
  void on_stage(const std::string& title, const char* unit) override { add(title + " of " + unit); }
  void on_started() override { add("started"); }
  void on_progress(int64_t done, int64_t total, const std::string&) override {
    if (calls.back() != "progress") add("progress");
    EXPECT_LE(done, total);
  }
  Json enforce() override {
    add("enforce");
    return {{"cgroup", "test"}};
  }
  void release() override { add("release"); }
  Json memory() override { return {{"ledger_peak_bytes", Ledger::process().peak()}}; }

  std::vector<std::string> calls;

 private:
  void add(const std::string& call) { calls.push_back(call); }
};

class RunObserverTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(1);
  }
  void SetUp() override { write_trees(folder_ / "graphs", 40, 1); }
  void TearDown() override { Ledger::process().set_cap(Ledger::kUnlimited); }

  RunRequest request() {
    return {
        .recipe = parse_recipe("task: graph_classification\nmodel: gtmp\nsplit: {by: graph}\n"
                               "paths: {hidden: 4, layers: 1}\ntraining: {max_epochs: 1, batch_size: 8}\n",
                               "recipe", {}),
        .data = folder_ / "graphs",
        .folder = folder_ / "run",
        .observer = &recorder_};
  }

  TempFolder folder_;
  CallRecorder recorder_;
};

TEST_F(RunObserverTest, ARunIsFollowedFromItsBudgetToItsManifest) {
  train_run(request());
  EXPECT_THAT(recorder_.calls, ElementsAre("enforce", "train gnn of graphs", "started", "progress"));
  const Json manifest = parse_json(read_text(folder_ / "run" / "manifest.json"));
  EXPECT_EQ(manifest.at("enforced"), Json({{"cgroup", "test"}}));
  EXPECT_GT(manifest.at("memory").at("ledger_peak_bytes"), 0);
  EXPECT_EQ(manifest.at("starts").at(0).at("ended"), "done");
}

TEST_F(RunObserverTest, TheBudgetIsReleasedBeforeARefusalIsExplained) {
  RunRequest small = request();
  small.memory.budget = 64 * 1024;
  Ledger::process().set_cap(small.memory.budget);
  EXPECT_THROW(train_run(small), BudgetTooSmall);
  EXPECT_THAT(recorder_.calls, testing::Contains("release"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(RunObserverTest, ABudgetBelowTheFloorIsRefusedBeforeAnythingStarts) {
  RunRequest small = request();
  small.memory = {.budget = 64 * 1024, .outside_ledger = 64 * 1024};
  EXPECT_THROW(train_run(small), BudgetTooSmall);
  EXPECT_THAT(recorder_.calls, ElementsAre());
}

}  // namespace
}  // namespace plimsoll

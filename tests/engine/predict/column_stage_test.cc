#include "engine/predict/column_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "engine/plan/warm_up.h"
#include "io/file.h"
#include "nn/classification.h"
#include "nn/encodings.h"
#include "nn/gat_with_jk.h"
#include "ops/allocator.h"
#include "support/errors.h"
#include "support/ledger_cap.h"
#include "support/random_graphs.h"
#include "support/stage_calls.h"
#include "support/temp_folder.h"
#include "support/thread_ranks.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

class ColumnStageTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(2);
  }
  void SetUp() override {
    std::filesystem::create_directories(columns_);
    std::filesystem::create_directories(stage_);
    shapes_ = read_shapes(source_, 1);
    recipe_.training.block.graphs = 4;
  }

  ColumnOptions options(const Objective& objective, int threads = 1) {
    return {.source = &source_,
            .shapes = shapes_,
            .objective = &objective,
            .recipe = &recipe_,
            .graphs = graphs_,
            .name = "said",
            .data = "data1",
            .run = {.folder = stage_, .identity = {}, .memory = {.threads = threads}}};
  }
  std::string bytes() { return read_text(columns_ / "said.npy"); }

  TempFolder folder_;
  const std::filesystem::path columns_ = folder_ / "columns";
  const std::filesystem::path stage_ = folder_ / "stage";
  RandomGraphs source_{40, 20, 7};
  Vector<GraphShape, Tag::columns> shapes_;
  Recipe recipe_;
  GraphList graphs_ = {0, 1, 3, 5, 6, 11, 12, 30, 31, 39};
  const GATWithJK gat_{{.num_ids = 20}, 3};
  const Classification objective_{gat_};
};

TEST_F(ColumnStageTest, HoldsWhatTheModelSaysInTheOrderOfTheGraphs) {
  const ColumnResult result = write_column(options(objective_), columns_);
  EXPECT_TRUE(result.computed);
  EXPECT_EQ(result.column.shape().shape, (std::vector<int64_t>{10, 2}));
  BlockEngine engine(source_, shapes_, objective_, {4, 4096, 16384});
  std::vector<float> expected(20);
  engine.predict(graphs_, expected);
  const auto found = result.column.values<float>();
  EXPECT_EQ(std::vector<float>(found.begin(), found.end()), expected);
  EXPECT_THAT(read_text(stage_ / "events.jsonl"), HasSubstr("\"rows\":10"));
}

TEST_F(ColumnStageTest, HasARowForEachNodeWhereTheModelSpeaksOfNodes) {
  const GraphAutoencoderNeighborhood vgae({.num_ids = 20, .hidden = {12}, .latent = 4}, 3);
  const Encodings encodings(vgae);
  int64_t nodes = 0;
  for (const int64_t g : graphs_) nodes += shapes_[static_cast<size_t>(g)].nodes;
  EXPECT_EQ(write_column(options(encodings), columns_).column.shape().shape,
            (std::vector<int64_t>{nodes, 4 + 10}));
}

TEST_F(ColumnStageTest, ThreadsChangeNoBit) {
  write_column(options(objective_), columns_);
  const std::string alone = bytes();
  std::filesystem::remove_all(columns_);
  std::filesystem::create_directories(columns_);
  write_column(options(objective_, 3), columns_);
  EXPECT_EQ(bytes(), alone);
}

TEST_F(ColumnStageTest, OneThatIsThereIsKept) {
  write_column(options(objective_), columns_);
  const auto written = std::filesystem::last_write_time(columns_ / "said.npy");
  ColumnOptions again = options(objective_, 2);
  StageCalls calls;
  calls.started = [] { FAIL() << "it is computed again"; };
  again.run.observer = &calls;
  const LedgerCap nothing_free(0);  // No memory is free, and none is needed.
  const ColumnResult result = write_column(again, columns_);
  EXPECT_FALSE(result.computed);
  EXPECT_EQ(result.column.shape().shape, (std::vector<int64_t>{10, 2}));
  EXPECT_EQ(std::filesystem::last_write_time(columns_ / "said.npy"), written);
}

// The machine of rank 1 sees the column late, as an NFS client may.
TEST_F(ColumnStageTest, ARankThatSeesItLateHasIt) {
  const std::filesystem::path seen = folder_ / "seen";
  std::filesystem::create_directories(seen);
  std::jthread late([&] {
    while (!std::filesystem::exists(columns_ / "said.json"))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    for (const char* name : {"said.npy", "said.json"})
      std::filesystem::copy_file(columns_ / name, seen / name);
  });
  std::array<std::vector<float>, 2> found;
  ThreadRanks(2).run([&](Exchange& exchange) {
    ColumnOptions mine = options(objective_);
    mine.run.ranks = 2;
    mine.run.exchange = &exchange;
    const ColumnResult result = write_column(mine, exchange.rank() == 0 ? columns_ : seen);
    const auto values = result.column.values<float>();
    found[static_cast<size_t>(exchange.rank())].assign(values.begin(), values.end());
  });
  EXPECT_EQ(found[0].size(), 20U);
  EXPECT_EQ(found[1], found[0]);
}

TEST_F(ColumnStageTest, AStaleOneIsRefused) {
  write_column(options(objective_), columns_);
  const std::string before = bytes();
  const auto refused = [&](const ColumnOptions& options) {
    return error_text<InputError>([&] { write_column(options, columns_); });
  };
  const GATWithJK other({.num_ids = 20}, 4);
  EXPECT_THAT(refused(options(Classification(other))), HasSubstr("stale: computed from a model"));
  ColumnOptions elsewhere = options(objective_);
  elsewhere.data = "data2";
  EXPECT_THAT(refused(elsewhere), HasSubstr("data data1, but this run has data2"));
  graphs_.back() = 38;
  EXPECT_THAT(refused(options(objective_)), HasSubstr("settings"));
  graphs_.back() = 39;
  recipe_.data.without = {"known"};
  EXPECT_THAT(refused(options(objective_)), HasSubstr("settings"));
  EXPECT_EQ(bytes(), before);
}

TEST_F(ColumnStageTest, AnInterruptLeavesNothingAndTheNextRunTheWhole) {
  write_column(options(objective_), columns_);
  const std::string whole = bytes();
  std::filesystem::remove_all(columns_);
  std::filesystem::create_directories(columns_);
  std::atomic<bool> interrupt = false;
  ColumnOptions options = this->options(objective_, 2);
  options.run.interrupt = &interrupt;
  StageCalls calls;
  calls.progress = [&](int64_t done) { interrupt = done >= 4; };
  options.run.observer = &calls;
  EXPECT_THAT(error_text<Interrupted>([&] { write_column(options, columns_); }), HasSubstr("--resume"));
  EXPECT_TRUE(std::filesystem::is_empty(columns_));
  interrupt = false;
  options.run.observer = &FitObserver::none();
  EXPECT_TRUE(write_column(options, columns_).computed);
  EXPECT_EQ(bytes(), whole);
}

TEST_F(ColumnStageTest, ABudgetThatIsTooSmallIsRefusedBeforeAnythingIsWritten) {
  ColumnOptions options = this->options(objective_);
  options.run.memory.outside_ledger = int64_t{64} << 20;
  const LedgerCap cap(256 << 10);
  EXPECT_THROW(write_column(options, columns_), Error);
  EXPECT_TRUE(std::filesystem::is_empty(columns_));
}

}  // namespace
}  // namespace plimsoll

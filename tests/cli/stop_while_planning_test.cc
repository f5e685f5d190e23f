// A run that is asked to stop before its first step stops at once, and leaves nothing.

#include <gtest/gtest.h>

#include "base/interrupt.h"
#include "engine/fit/edge_distances.h"
#include "engine/fit/target_scale.h"
#include "engine/plan/warm_up.h"
#include "ops/allocator.h"
#include "run/task.h"
#include "run/train_run.h"
#include "sample/block/forest_source.h"
#include "sample/block/graph_set_source.h"
#include "support/task_data.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

class StopWhilePlanningTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(1);
  }
  void SetUp() override { write_trees(folder_ / "graphs", 40, 1); }
  void TearDown() override { interrupt_requested = false; }

  RunRequest request(const std::string& task) const {
    return {.recipe = parse_recipe("task: " + task +
                                       "\nmodel: gtmp\nsplit: {by: graph}\npaths: {hidden: 4, layers: 1}\n"
                                       "training: {max_epochs: 1000, batch_size: 8}\n",
                                   "recipe", {}),
            .data = folder_ / "graphs"};
  }

  TempFolder folder_;
};

// A source that asks to stop when a given graph is read, and fails if reading continues.
class StopsAt final : public BlockSource {
 public:
  StopsAt(std::unique_ptr<BlockSource> source, int64_t read) : source_(std::move(source)), left_(read) {}
  int64_t graphs() const override { return source_->graphs(); }
  int64_t node_features() const override { return source_->node_features(); }
  int64_t edge_features() const override { return source_->edge_features(); }
  RowWidths widths() const override { return source_->widths(); }
  const GraphSetTables& tables() const override { return source_->tables(); }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override {
    EXPECT_GE(left_, 0) << "read on";
    if (left_-- == 0) interrupt_requested = true;
    source_->read(graphs, block);
  }

 private:
  const std::unique_ptr<BlockSource> source_;
  mutable int64_t left_;
};

TEST_F(StopWhilePlanningTest, WhatReadsAllGraphsStopsAtTheNext) {
  const auto source = [&](int64_t read) {
    interrupt_requested = false;
    return std::make_unique<StopsAt>(
        std::make_unique<GraphSetSource>(folder_ / "graphs", GraphColumnsAsked{Targets::nodes, true}), read);
  };
  TrainingSplit split;
  for (int64_t g = 0; g < 40; ++g) (g < 30 ? split.training : split.validation).push_back(g);
  EXPECT_THROW(target_scale(*source(5), split), Interrupted);
  EXPECT_THROW(target_scale(*source(35), split), Interrupted);
  EXPECT_THROW(distance_percentile(*source(5), split.training, 0.99), Interrupted);
  EXPECT_THROW(distance_percentile(*source(35), split.training, 0.99), Interrupted);
  EXPECT_THROW(ForestSource(source(5), 0), Interrupted);
  interrupt_requested = true;
  EXPECT_THROW(read_shapes(GraphSetSource(folder_ / "graphs", {}), 2), Interrupted);
}

TEST_F(StopWhilePlanningTest, APlanStops) {
  for (const char* const task : {"graph_classification", "node_regression", "tree_pretraining"}) {
    interrupt_requested = false;
    const auto training = find_task(task).open(request(task));
    for (const bool without_data : {true, false}) {
      const auto stages = training->stages(42, {});
      interrupt_requested = true;
      EXPECT_THROW(stages.front().plan({.without_data = without_data}), Interrupted) << task;
      interrupt_requested = false;
    }
  }
}

TEST_F(StopWhilePlanningTest, ARunLeavesNoFolder) {
  interrupt_requested = true;
  RunRequest stopped = request("graph_classification");
  stopped.folder = folder_ / "run";
  stopped.interrupt = &interrupt_requested;
  EXPECT_THROW(train_run(stopped), Interrupted);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

}  // namespace
}  // namespace plimsoll

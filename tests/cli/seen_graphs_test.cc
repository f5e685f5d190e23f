// A model is evaluated only on unseen graphs, also if the data are a superset of its training data.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/plan/warm_up.h"
#include "ops/allocator.h"
#include "run/evaluate_run.h"
#include "run/train_run.h"
#include "support/errors.h"
#include "support/task_data.h"
#include "support/temp_folder.h"
#include "tasks/gnn/gnn_training.h"
#include "tasks/gnn/graph_lists.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

constexpr int64_t kGraphs = 40;
const GnnTask kClasses{.head = GnnHead::graphs, .kinds = {"graph_set"}};

std::vector<GraphRange> two_splits(int64_t training, int64_t others) {
  return {range_of("train", 0, training), range_of("later", training, others)};
}

class SeenGraphsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(1);
  }
  void train(const std::string& keys, const std::vector<GraphRange>& splits = {}) {
    write_trees(folder_ / "data", kGraphs, 1, splits);
    recipe_ = parse_recipe(
        "task: graph_classification\ngnn: {hidden: 4, layers: 1}\ntraining: {max_epochs: 1}\n" + keys,
        "recipe", {});
    train_run({.recipe = recipe_, .data = folder_ / "data", .folder = folder_ / "run"});
  }
  EvaluatedGraphs judged_on(const std::string& data, bool old_file = false, const std::string& only = {}) {
    TrainedGnn gnn(RunFolder{folder_ / "run"}, recipe_, folder_ / data, kClasses);
    if (old_file) gnn.model.contents = {};
    return lists_to_evaluate(gnn.data, read_shapes(gnn.data.source(), 1), recipe_, gnn.model, only);
  }
  TrainingSplit split_that_trained() {
    const TrainingData data(folder_ / "data", recipe_);
    return split_for(recipe_, data, read_shapes(data.source(), 1));
  }

  TempFolder folder_;
  Recipe recipe_;
};

TEST_F(SeenGraphsTest, OneGraphMoreBringsBackNoneThatTrained) {
  train("split: {by: graph, validation: 0.2, test: 0.2}\n");
  const TrainingSplit split = split_that_trained();
  const auto seen = std::ssize(split.training) + std::ssize(split.validation);
  EXPECT_EQ(judged_on("data").lists.size(), 2U);
  EXPECT_TRUE(judged_on("data").notes.empty());

  write_trees(folder_ / "more", kGraphs + 1, 1);
  const EvaluatedGraphs evaluated = judged_on("more");
  ASSERT_EQ(evaluated.lists.size(), 1U);
  GraphList expected = split.test;
  expected.push_back(kGraphs);
  EXPECT_EQ(evaluated.lists[0].graphs, expected);
  EXPECT_EQ(evaluated.left_out, Json({{"all", seen}}));
  EXPECT_THAT(evaluated.notes, HasSubstr("all: left out " + std::to_string(seen) +
                                         " graphs that were used to train or validate"));
}

TEST_F(SeenGraphsTest, TheTableAndTheFileSayWhatWasLeftOut) {
  train("split: {by: graph, validation: 0.2, test: 0}\n", two_splits(30, 10));
  write_trees(folder_ / "more", kGraphs + 1, 1, two_splits(30, 11));
  const EvaluationResult findings =
      evaluate_run({.asked = {.folder = {folder_ / "run"}, .recipe = {}, .data = folder_ / "more"}});
  ASSERT_EQ(findings.json["splits"].size(), 1U);
  EXPECT_EQ(findings.json["splits"][0]["name"], "later");
  EXPECT_EQ(findings.json["splits"][0]["graphs"], 11);
  EXPECT_EQ(findings.json["left_out"], Json({{"train", 30}}));
  EXPECT_THAT(findings.notes, HasSubstr("train: left out 30 graphs"));
}

TEST_F(SeenGraphsTest, NothingIsLeftOfACopy) {
  train("split: {by: graph, validation: 0.2, test: 0}\n");
  write_trees(folder_ / "copy", kGraphs, 1, two_splits(20, 20));
  EXPECT_THAT(error_text<InputError>([&] { judged_on("copy"); }), HasSubstr("nothing to evaluate"));
}

TEST_F(SeenGraphsTest, AnOlderFileIsJudgedAsBeforeAndSaysSo) {
  train("split: {by: graph, validation: 0.2, test: 0.2}\n");
  write_trees(folder_ / "more", kGraphs + 1, 1);
  const EvaluatedGraphs evaluated = judged_on("more", /*old_file=*/true);
  EXPECT_EQ(evaluated.lists[0].graphs.size(), kGraphs + 1U);
  EXPECT_THAT(evaluated.notes, HasSubstr("does not record the graphs on which it was trained"));
}

}  // namespace
}  // namespace plimsoll

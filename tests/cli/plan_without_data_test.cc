// Every task is planned without data, with every enumerator that the schema has for its model. The task
// relational needs tables, so tests/python/test_relational.py tests it.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "config/recipe.h"
#include "engine/plan/warm_up.h"
#include "memory/ledger.h"
#include "ops/allocator.h"
#include "run/plan_run.h"
#include "run/plan_savings.h"
#include "support/task_data.h"
#include "support/temp_folder.h"
#ifdef PLIMSOLL_CAN
#include "can/simulate/made_bus.h"
#endif

namespace plimsoll {
namespace {

constexpr int64_t kTooSmall = 64 * 1024;
#ifdef PLIMSOLL_CAN
constexpr bool kCan = true;
#else
constexpr bool kCan = false;
#endif

struct Word {
  std::string key;
  std::string word;
};

// Every enumerator of every key in the schema.
std::vector<Word> words_of_schema() {
  std::vector<Word> words;
  Recipe recipe;
  const RecipeKeys keys = recipe_keys(recipe);
  for (const RecipeKey& key : keys.all())
    if (!key.is_preset)
      for (const std::string_view word : key.words) words.push_back({key.name, std::string(word)});
  return words;
}

bool is_of_frames(const std::string& task) {
  return task == "detection" || task == "autoencoder" || task == "distillation";
}
bool is_of_giant_graphs(const std::string& task) {
  return task == "node_classification" || task == "node_multilabel_classification" ||
         task == "link_prediction";
}

// Whether a key changes what the task runs.
bool is_for(const std::string& task, const std::string& key) {
  std::vector<std::string> sections = {"training.gradient_checkpointing", "training.optimizer"};
  if (task == "detection") sections.insert(sections.end(), {"gat.", "data.features"});
  if (task == "autoencoder") sections.emplace_back("vgae.");
  if (task == "distillation") sections.insert(sections.end(), {"distillation.", "curriculum."});
  if (!is_of_frames(task)) sections.insert(sections.end(), {"model", "gnn."});
  if (is_of_giant_graphs(task)) sections.emplace_back("sampling.");
  if (task == "graph_regression" || task.starts_with("tree")) sections.emplace_back("paths.");
  if (task.starts_with("tree")) sections.emplace_back("pretraining.");
  return std::ranges::any_of(sections, [&](const std::string& section) { return key.starts_with(section); });
}

class PlanWithoutDataTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(2);
  }
  void SetUp() override {
    write_trees(folder_ / "graphs", 40, 1);
    write_giant(folder_ / "graph", 300, 3, 1);
#ifdef PLIMSOLL_CAN
    write_bus(folder_ / "frames", 12'000);
#endif
  }
  void TearDown() override {
    Ledger::process().set_cap(Ledger::kUnlimited);
  }

  RunRequest request(const std::string& task, const std::vector<std::string>& overrides = {}) const {
    std::string text = "task: " + task +
                       "\ntraining: {max_epochs: 1, batch_size: 16, block: {graphs: 8, seeds: 32}}\n"
                       "gnn: {hidden: 8, layers: 2}\ngat: {hidden: 4, layers: 2}\nvgae: {hidden: [8]}\n"
                       "paths: {hidden: 8, layers: 2}\nsampling: {fan_outs: [3, 3]}\n"
                       "teacher: {gat: {hidden: 4, layers: 2}, vgae: {hidden: [8]}}\n";
    if (task.starts_with("tree")) text += "model: gtmp\n";
    if (!is_of_frames(task)) text += "split: {by: graph}\n";
    const char* const data = is_of_frames(task) ? "frames" : is_of_giant_graphs(task) ? "graph" : "graphs";
    return {.recipe = parse_recipe(text, "recipe", overrides), .data = folder_ / data};
  }
  static std::vector<std::string> tasks() {
    std::vector<std::string> tasks;
    for (const Word& word : words_of_schema())
      if (word.key == "task" && word.word != "relational" && (kCan || !is_of_frames(word.word)))
        tasks.push_back(word.word);
    return tasks;
  }
  // The models that suit the task's data.
  static std::vector<std::string> models_of(const std::string& task) {
    if (is_of_frames(task) || is_of_giant_graphs(task)) return {"gnn"};
    if (task.starts_with("tree")) return {"sgmp", "gtmp"};
    return {"gnn", "sgmp", "gtmp"};
  }

  TempFolder folder_;
};

TEST_F(PlanWithoutDataTest, NeedsNoLessThanBlocksThatRun) {
  for (const std::string& task : tasks())
    for (const std::string& model : models_of(task)) {
      SCOPED_TRACE(task + ", " + model);
      const RunRequest planned = request(task, {"model=" + model});
      const StagePlans plans = plan_without_data(planned);
      const StagePlans measured = plan_run(planned);
      ASSERT_EQ(plans.size(), measured.size());
      for (size_t i = 0; i < plans.size(); ++i) {
        EXPECT_GE(plans[i].second.worst.peak_bytes, measured[i].second.worst.peak_bytes) << plans[i].first;
        EXPECT_GE(plans[i].second.min_budget, measured[i].second.min_budget) << plans[i].first;
      }
    }
}

TEST_F(PlanWithoutDataTest, AnswersATinyBudgetAndSaysWhatWouldShrinkIt) {
  for (const std::string& task : tasks())
    for (const std::string& model : models_of(task)) {
      SCOPED_TRACE(task + ", " + model);
      RunRequest planned = request(task, {"model=" + model});
      Ledger::process().set_cap(kTooSmall);
      planned.memory.budget = kTooSmall;
      const MemoryPlan plan = largest_budget(plan_within(planned));
      EXPECT_FALSE(plan.feasible);
      EXPECT_GT(plan.min_budget, kTooSmall);
      Ledger::process().set_cap(plan.min_budget);
      planned.memory.budget = plan.min_budget;
      EXPECT_TRUE(largest_budget(plan_within(planned)).feasible) << plan.min_budget;
      Ledger::process().set_cap(Ledger::kUnlimited);
      EXPECT_FALSE(savings_of(planned).empty());
    }
}

TEST_F(PlanWithoutDataTest, IsMadeForAGpu) {
  for (const std::string& task : tasks())
    for (const std::string& model : models_of(task)) {
      SCOPED_TRACE(task + ", " + model);
      RunRequest planned = request(task, {"model=" + model});
      planned.device_budget = int64_t{8} << 30;
      for (const auto& [stage, plan] : plan_without_data(planned)) {
        ASSERT_TRUE(plan.device) << stage;
        EXPECT_GT(plan.device->min_budget, 0) << stage;
      }
    }
}

// A refused recipe is also refused with data, with the same message.
TEST_F(PlanWithoutDataTest, TakesEveryWordOfTheSchema) {
  int planned = 0;
  for (const std::string& task : tasks())
    for (const auto& [key, word] : words_of_schema()) {
      if (!is_for(task, key)) continue;
      SCOPED_TRACE(task + ", " + key + ": " + word);
      std::vector<std::string> overrides = {key + "=" + word};
      if (key.starts_with("paths.") && task == "graph_regression") overrides.emplace_back("model=sgmp");
      const RunRequest checked = request(task, overrides);
      const auto outcome = [&](bool without_data) -> std::string {
        try {
          without_data ? plan_without_data(checked) : plan_run(checked);
        } catch (const Error& error) {
          return error.what();
        }
        return {};
      };
      const std::string refused = outcome(true);
      planned += refused.empty();
      if (!refused.empty()) {
        EXPECT_EQ(refused, outcome(false));
      }
    }
  EXPECT_GT(planned, 150);
}

}  // namespace
}  // namespace plimsoll

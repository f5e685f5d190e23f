// The budget that the error of a refused evaluation or prediction names is enough and gives the same results.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <regex>

#include "config/recipe.h"
#include "engine/plan/warm_up.h"
#include "io/file.h"
#include "memory/ledger.h"
#include "ops/allocator.h"
#include "run/evaluate_run.h"
#include "run/predict_run.h"
#include "run/train_run.h"
#include "support/task_data.h"
#include "support/temp_folder.h"
#ifdef PLIMSOLL_CAN
#include "can/simulate/made_bus.h"
#endif

namespace plimsoll {
namespace {

struct TrainedRun {
  std::string data;
  std::string task;
  std::string keys;
};

// Runs of every task, and of models of each kind.
const std::vector<TrainedRun>& runs() {
  static const std::string kGraphs = "split: {by: graph, validation: 0.3, test: 0.2}\n";
  static const std::string kPaths = kGraphs + "paths: {hidden: 8, layers: 2, tile: 32}\n";
  static const std::string kGiant = "sampling: {fan_outs: [4, 4]}\n";
  static const std::vector<TrainedRun> runs = {
      {"graphs", "graph_classification", kGraphs + "gnn: {hidden: 32, layers: 3, conv: gatv2}\n"},
      {"graphs", "graph_classification", kGraphs + "gnn: {hidden: 16, layers: 2, conv: sage, norm: batch}\n"},
      {"graphs", "graph_classification", kPaths + "model: sgmp\n"},
      {"graphs", "node_classification", kGraphs + "gnn: {hidden: 16, layers: 2, conv: gin}\n"},
      {"graphs", "graph_regression", kGraphs + "gnn: {hidden: 16, layers: 2, conv: gcn}\n"},
      {"graphs", "node_regression", kGraphs + "gnn: {hidden: 64, layers: 2, conv: gat}\n"},
      {"graphs", "tree_classification", kPaths + "model: gtmp\nfine_tuning: {max_epochs: 1}\n"},
      {"graphs", "tree_pretraining", kPaths + "model: gtmp\n"},
      {"graph", "node_classification", kGiant + "gnn: {hidden: 16, layers: 2, conv: sage}\n"},
      {"graph", "node_classification", kGiant + "gnn: {hidden: 64, layers: 2, conv: gcn, jk: cat}\n"},
      {"graph", "link_prediction", kGiant + "gnn: {hidden: 32, layers: 2, conv: gat}\n"},
#ifdef PLIMSOLL_CAN
      {"frames", "detection", "gat: {hidden: 8, layers: 2}\n"},
      {"frames", "autoencoder", "vgae: {hidden: [32]}\n"},
#endif
  };
  return runs;
}

class EvaluationBudgetTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(3);
  }
  void SetUp() override {
    write_trees(folder_ / "graphs", 300, 1);
    write_giant(folder_ / "graph", 8000, 6, 1);
#ifdef PLIMSOLL_CAN
    write_bus(folder_ / "frames", 20'000);
#endif
    for (size_t r = 0; r < runs().size(); ++r) {
      const auto& [data, task, keys] = runs()[r];
      const Recipe recipe = parse_recipe(
          "task: " + task + "\ntraining: {max_epochs: 1, batch_size: 64}\n" + keys, "recipe", {});
      train_run({.recipe = recipe, .data = folder_ / data, .folder = run(r).root});
    }
  }
  void TearDown() override {
    Ledger::process().set_cap(Ledger::kUnlimited);
  }

  RunFolder run(size_t r) const {
    return {folder_ / ("run-" + std::to_string(r))};
  }

  // A call of evaluate or predict within a budget in bytes; 0: without one. Returns the results.
  struct Call {
    std::string name;
    std::function<std::string(int64_t budget)> run;
    std::string operator()(int64_t budget) const { return run(budget); }
  };
  Call any_call(size_t r, std::mt19937_64& random) const {
    const int threads = 1 + static_cast<int>(random() % 3);
    const bool of_frames = runs()[r].data == "frames";
    const bool one_split = random() % 3 == 0;
    const char* const split = !one_split ? "" : runs()[r].data == "graph" ? "valid" : "validation";
    if (runs()[r].task == "tree_pretraining" || random() % 2 == 0)
      return {fmt::format("evaluate of '{}' with {} threads", split, threads), [=, this](int64_t budget) {
                const Within within(budget);
                return evaluate_run({.asked = {.folder = run(r),
                                               .recipe = {},
                                               .data = folder_ / runs()[r].data,
                                               .split = split,
                                               .memory = {.budget = budget, .threads = threads}}})
                    .json.dump();
              }};
    const bool embeddings = random() % 2 == 0 && runs()[r].task != "autoencoder" && !of_frames;
    const bool csv = random() % 3 == 0;
    return {fmt::format("predict with {} threads, embeddings {}, csv {}", threads, embeddings, csv),
            [=, this](int64_t budget) {
              const Within within(budget);
              const auto out = folder_ / "out";
              predict_run({.folder = run(r),
                           .data = folder_ / runs()[r].data,
                           .out = out,
                           .force = true,
                           .embeddings = embeddings,
                           .csv = csv,
                           .memory = {.budget = budget, .threads = threads}});
              return read_text(out / "manifest.json");  // The manifest includes the checksum of each column.
            }};
  }

  // Sets the cap of the ledger for a call.
  struct Within {
    explicit Within(int64_t budget) { Ledger::process().set_cap(budget == 0 ? Ledger::kUnlimited : budget); }
    ~Within() { Ledger::process().set_cap(Ledger::kUnlimited); }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;
  };

  static int64_t named_in(const std::string& text) {
    static const std::regex kNamed("smallest budget that works is ([0-9]+) bytes");
    std::smatch found;
    return std::regex_search(text, found, kNamed) ? std::stoll(found[1]) : 0;
  }

  TempFolder folder_;
};

TEST_F(EvaluationBudgetTest, WhatARefusalNamesWorks) {
  const int trials = std::getenv("PLIMSOLL_SLOW") != nullptr ? 500 : 39;
  std::mt19937_64 random(58);
  int refused = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const size_t r = static_cast<size_t>(trial) % runs().size();
    SCOPED_TRACE(testing::Message() << "trial " << trial << ": " << runs()[r].task << "\n" << runs()[r].keys);
    const Call call = any_call(r, random);
    SCOPED_TRACE(call.name);
    const std::string expected = call(0);
    // From almost nothing to about what the largest call needs.
    const int64_t tried = Ledger::process().held() + (int64_t{1} << (12 + random() % 10));
    int64_t named = 0;
    try {
      EXPECT_EQ(call(tried), expected);
      continue;
    } catch (const BudgetTooSmall& refusal) {
      named = named_in(refusal.what());
      ASSERT_GT(named, tried) << refusal.what();
    }
    ++refused;
    try {
      EXPECT_EQ(call(named), expected);
    } catch (const Error& error) {
      ADD_FAILURE() << "refused " << tried << ", named " << named << ", then: " << error.what();
    }
  }
  printf("%d of %d calls were refused\n", refused, trials);
  EXPECT_GT(refused, trials / 2);
}

}  // namespace
}  // namespace plimsoll

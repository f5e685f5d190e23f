// The budget that a refusal names is the smallest one that works.

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "config/recipe.h"
#include "engine/plan/warm_up.h"
#include "memory/ledger.h"
#include "ops/allocator.h"
#include "run/plan_run.h"
#include "run/train_run.h"
#include "support/task_data.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

constexpr int64_t kTooSmall = 64 * 1024;
constexpr int64_t kLess = 64 * 1024;
// Bytes that a plan made without running anything adds to what blocks need: BLAS buffers, and upper bounds of
// tensors.
constexpr int64_t kSeenFromAbove = 1024 * 1024;

class SmallestBudgetTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(2);
  }
  void TearDown() override { Ledger::process().set_cap(Ledger::kUnlimited); }

  // A run on one giant graph, whose topology may be large compared with a block.
  RunRequest any_request(std::mt19937_64& random, const std::string& estimation) {
    const auto pick = [&](auto... values) {
      const std::vector list{values...};
      return list[random() % list.size()];
    };
    Ledger::process().set_cap(Ledger::kUnlimited);
    write_giant(folder_ / "graph", pick(1000, 4000, 12'000), pick(1, 3, 24), static_cast<uint32_t>(random()));
    const bool links = random() % 3 == 0;
    const int64_t hops = pick(1, 2, 3);
    std::string fan_outs;
    for (int64_t hop = 0; hop < hops; ++hop)
      fan_outs += (hop > 0 ? ", " : "") + std::to_string(pick(2, 5, 10));
    const Recipe recipe = parse_recipe(
        std::string("task: ") + (links ? "link_prediction" : "node_classification") +
            "\nsampling: {fan_outs: [" + fan_outs + "]}\ngnn: {conv: " + pick("sage", "gcn", "gin", "gat") +
            ", hidden: " + std::to_string(pick(4, 16)) + ", layers: " + std::to_string(hops) +
            "}\nmemory: {estimation: " + estimation + "}\ntraining: {max_epochs: " +
            std::to_string(pick(1, 3)) + ", batch_size: " + std::to_string(pick(64, 512)) +
            ", block: {seeds: " + std::to_string(pick(32, 256)) + "}}\n",
        "recipe", {});
    return {.recipe = recipe, .data = folder_ / "graph", .memory = {.threads = pick(1, 2, 3)}};
  }

  // What a plan says of a budget. The plan itself is in the ledger as long as it lives, so it does not
  // outlive the call.
  struct Answer {
    bool feasible;
    int64_t min_budget;
  };
  static Answer plan_of(RunRequest request, int64_t budget) {
    Ledger::process().set_cap(budget);
    request.memory.budget = budget;
    const MemoryPlan plan = largest_budget(plan_within(request));
    return {plan.feasible, plan.min_budget};
  }

  TempFolder folder_;
};

// The budget is exact to the step of 64 KiB if a plan decides without running anything; if blocks are
// measured, the budget may exceed the need by as much as such a plan overestimates it.
TEST_F(SmallestBudgetTest, OfAGiantGraphWorksAndLessIsRefused) {
  const int graphs = std::getenv("PLIMSOLL_SLOW") != nullptr ? 100 : 3;
  std::mt19937_64 random(58);
  // Torch allocates some hundred bytes at its first use and keeps them; they must be held before the first
  // budget is named.
  for (int i = 0; i < 8; ++i) {
    const RunRequest request = any_request(random, "static");
    plan_of(request, plan_of(request, kTooSmall).min_budget);
  }
  int64_t most_above = 0;
  for (int i = 0; i < graphs; ++i) {
    for (const bool measured : {false, true}) {
      std::mt19937_64 same = random;
      const RunRequest request = any_request(measured ? random : same, measured ? "measured" : "static");
      SCOPED_TRACE(testing::Message() << "graph " << i << (measured ? ", measured" : ", static"));
      const Answer refused = plan_of(request, kTooSmall);
      EXPECT_FALSE(refused.feasible);
      const int64_t named = refused.min_budget;
      const Answer works = plan_of(request, named);
      EXPECT_TRUE(works.feasible) << named << ", then " << works.min_budget;
      const Answer less = plan_of(request, named - kLess - (measured ? kSeenFromAbove : 0));
      EXPECT_FALSE(less.feasible) << named << ", then " << less.min_budget;
      if (measured) most_above = std::max(most_above, named - less.min_budget);
    }
  }
  printf("at most %ld KiB seen from above\n", most_above / 1024);
}

TEST_F(SmallestBudgetTest, OfAGiantGraphTrains) {
  std::mt19937_64 random(59);
  for (int i = 0; i < 3; ++i) {
    RunRequest request = any_request(random, "measured");
    request.folder = folder_ / ("run-" + std::to_string(i));
    request.memory.budget = plan_of(request, kTooSmall).min_budget;
    Ledger::process().set_cap(request.memory.budget);
    EXPECT_FALSE(train_run(request).stages.empty()) << request.memory.budget;
  }
}

}  // namespace
}  // namespace plimsoll

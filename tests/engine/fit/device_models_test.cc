#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "base/units.h"
#include "engine/fit/fit.h"
#include "engine/on_each_device.h"
#include "support/any_model.h"
#include "support/temp_folder.h"

// Random models on random graphs, each with random device budgets, at least the smallest that works: nothing
// is refused, blocks stay within their plan, and weights have the same bits.

namespace plimsoll {
namespace {

class DeviceModelsTest : public OnEachDevice {
 protected:
  static constexpr int64_t kRoom = 768 * kMiB;  // Bytes in addition to the context.
  static constexpr int kBudgets = 5;

  struct Trained {
    std::string weights;
    FitResult fit;
  };
  // Trains the model that `random` draws next, for one epoch.
  Trained trained(std::mt19937_64 random, const AnyGraphs& graphs, const Recipe& recipe,
                  TrainingDevice& device, int threads) {
    const AnyModel any(random);
    const auto folder = folder_ / std::to_string(runs_++);
    std::filesystem::create_directories(folder);
    FitResult fitted = fit(
        {.source = &graphs.source(),
         .shapes = graphs.shapes,
         .objective = any.objective.get(),
         .recipe = &recipe,
         .split = &split_,
         .repeats_parameters = any.what == "gat lstm",
         .run = {.folder = folder, .identity = "test", .memory = {.threads = threads}, .device = &device}});
    std::filesystem::remove_all(folder);
    return {any.objective->parameters().hash(), std::move(fitted)};
  }

  TempFolder folder_;
  TrainingSplit split_;
  int runs_ = 0;
};
INSTANTIATE_TEST_SUITE_P(, DeviceModelsTest, testing::Values(On::stand_in, On::cuda), name_of_on);

TEST_P(DeviceModelsTest, AnyBudgetFromTheSmallestTrainsToTheSameBits) {
  const int models = std::getenv("PLIMSOLL_SLOW") != nullptr ? 200 : 6;
  // --gtest_random_seed=N draws other models. UnitTest::random_seed() would draw others in each run.
  std::mt19937_64 random(17 + static_cast<uint64_t>(GTEST_FLAG_GET(random_seed)));
  int runs = 0;
  int exact = 0;
  std::map<std::string, int> reasons;
  int64_t reruns = 0;
  double inexact_over = 0;  // Factor by which a range exceeds the bytes that its blocks used.
  for (int m = 0; m < models; ++m) {
    const std::mt19937_64 of_model = random;
    const AnyModel any(random);
    if (!any.trains) continue;
    SCOPED_TRACE(std::to_string(m) + ": " + any.what);
    const auto sizes = odd_sizes(random, 40 + random() % 60);
    const AnyGraphs graphs(random, sizes, any.teacher);
    Recipe recipe;
    recipe.training.max_epochs = 1;
    recipe.training.batch_size = 24;
    recipe.training.block.graphs = 1 + static_cast<int64_t>(random() % 12);
    recipe.training.gradient_checkpointing =
        random() % 3 == 0 ? GradientCheckpointing::on : GradientCheckpointing::automatic;
    const auto validated = graphs.all.size() / 5;
    split_.validation.assign(graphs.all.begin(), graphs.all.begin() + static_cast<std::ptrdiff_t>(validated));
    split_.training.assign(graphs.all.begin() + static_cast<std::ptrdiff_t>(validated), graphs.all.end());

    const Trained roomy = trained(of_model, graphs, recipe, device(kRoom), kThreads);
    const DevicePlan& plan = *roomy.fit.plan.device;
    exact += plan.exact;
    if (!plan.exact && ++reasons[plan.why_inexact] == 1)
      std::fprintf(stderr, "%s: %s\n", any.what.c_str(), plan.why_inexact.c_str());
    const int64_t min = plan.min_budget - device(kRoom).context();
    for (int b = 0; b < kBudgets; ++b) {
      const int64_t more =
          b == 0 ? 0 : static_cast<int64_t>(random() % static_cast<uint64_t>(4 * plan.range + 1));
      const Trained found = trained(of_model, graphs, recipe, device(min + more), kThreads);
      const DeviceUse& use = *found.fit.device;
      EXPECT_EQ(found.weights, roomy.weights) << more << " bytes above the smallest";
      EXPECT_LE(use.measured, use.budget);
      if (found.fit.plan.device->exact) {
        EXPECT_EQ(use.highest_range, use.range);
      } else {
        inexact_over = std::max(inexact_over,
                                static_cast<double>(use.range) / static_cast<double>(use.highest_range) - 1);
      }
      reruns += use.reruns;
      ++runs;
    }
    if (m % 10 == 9)
      std::fprintf(stderr, "%d models, %d exact, %d runs, %lld blocks again\n", m + 1, exact, runs,
                   static_cast<long long>(reruns));
  }
  std::printf(
      "%d runs, %d models exact; ranges of the others at most %.1f %% longer than used; %lld blocks ran "
      "again\n",
      runs, exact, 100 * inexact_over, static_cast<long long>(reruns));
  for (const auto& [reason, count] : reasons) std::printf("%d models: %s\n", count, reason.c_str());
}

}  // namespace
}  // namespace plimsoll

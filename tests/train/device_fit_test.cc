#include <gtest/gtest.h>

#include <numeric>

#include "base/units.h"
#include "nn/classification.h"
#include "nn/gat_distillation.h"
#include "nn/gat_with_jk.h"
#include "nn/id_dropout.h"
#include "nn/live_teacher.h"
#include "nn/reconstruction.h"
#include "nn/vgae.h"
#include "ops/allocator.h"
#include "support/plain_device.h"
#include "support/random_graphs.h"
#include "support/temp_folder.h"
#include "train/fit/fit.h"
#include "train/plan/warm_up.h"

// A run whose blocks go to a device and whose results come back has the bits of one that stays on the host,
// where the device computes as the host does.

namespace plimsoll {
namespace {

constexpr int64_t kBudget = 64 * kMiB;

class DeviceFitTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(2);
  }
  void SetUp() override {
    shapes_ = read_shapes(source_, 1);
    split_.training.resize(96);
    split_.validation.resize(24);
    std::iota(split_.training.begin(), split_.training.end(), int64_t{0});
    std::iota(split_.validation.begin(), split_.validation.end(), int64_t{96});
    recipe_.training.max_epochs = 2;
    recipe_.training.batch_size = 24;
    recipe_.training.block.graphs = 4;
  }

  struct Trained {
    std::string weights;
    FitResult fit;
  };
  using Make = std::function<Trained(const std::function<FitResult(const Objective&, const Objective* teacher)>&)>;
  // On the host with budget 0.
  Trained run(const Make& make, int64_t budget, int threads) {
    std::optional<TrainingDevice> device;
    if (budget > 0) device.emplace(std::make_unique<PlainDevice>(budget), budget, threads);
    const auto folder = folder_ / std::to_string(runs_++);
    std::filesystem::create_directories(folder);
    return make([&](const Objective& objective, const Objective* teacher) {
      return fit({.source = &source_,
                  .shapes = shapes_,
                  .objective = &objective,
                  .recipe = &recipe_,
                  .split = &split_,
                  .teacher = {.live = teacher},
                  .run = {.folder = folder,
                          .identity = "test",
                          .threads = threads,
                          .device = device ? &*device : nullptr}});
    });
  }
  void expect_same_bits(const Make& make) {
    const Trained host = run(make, 0, 1);
    ASSERT_FALSE(host.fit.device);
    for (const int threads : {1, 3}) {
      const Trained there = run(make, kBudget, threads);
      EXPECT_EQ(there.weights, host.weights) << threads << " threads";
      EXPECT_EQ(there.fit.epochs.back().validation_loss, host.fit.epochs.back().validation_loss);
      ASSERT_TRUE(there.fit.device);
      EXPECT_LE(there.fit.device->highest_range, there.fit.device->range);
      EXPECT_GT(there.fit.device->highest_range, 0);
      EXPECT_LE(there.fit.device->planned, kBudget);
    }
    // As little as it takes, and a byte less.
    const int64_t least = run(make, kBudget, 1).fit.plan.device->min_budget;
    const Trained tight = run(make, least, 1);
    EXPECT_EQ(tight.weights, host.weights);
    EXPECT_EQ(tight.fit.device->lanes, 1);
    EXPECT_THROW(run(make, least - 1, 1), BudgetTooSmall);
  }

  TempFolder folder_;
  RandomGraphs source_{120, 50, 7};
  Vector<GraphShape, Tag::columns> shapes_;
  TrainingSplit split_;
  Recipe recipe_;
  int runs_ = 0;
};

TEST_F(DeviceFitTest, ClassificationWithDroppedIds) {
  expect_same_bits([](const auto& fit) -> Trained {
    const GATWithJK model({.num_ids = 50}, 3);
    const Classification objective(model);
    const IdDropout dropping(objective, {.index = 49, .node_columns = {1}, .edge_columns = {0}}, 0.5);
    FitResult found = fit(dropping, nullptr);
    return {model.parameters().hash(), std::move(found)};
  });
}

TEST_F(DeviceFitTest, Reconstruction) {
  expect_same_bits([](const auto& fit) -> Trained {
    const GraphAutoencoderNeighborhood model({.num_ids = 50}, 3);
    const Reconstruction objective(model, {});
    FitResult found = fit(objective, nullptr);
    return {model.parameters().hash(), std::move(found)};
  });
}

TEST_F(DeviceFitTest, DistillationFromALiveTeacher) {
  expect_same_bits([](const auto& fit) -> Trained {
    const GATWithJK large({.num_ids = 50, .hidden = 32}, 4);
    const Classification teacher(large);
    const GATWithJK model({.num_ids = 50}, 3);
    const GatDistillation objective(model, 2.0, 0.5);
    const LiveTeacher taught(objective, teacher);
    FitResult found = fit(taught, &teacher);
    return {model.parameters().hash(), std::move(found)};
  });
}

}  // namespace
}  // namespace plimsoll

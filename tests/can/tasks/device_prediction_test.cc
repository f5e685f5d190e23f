#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "can/tasks/scorer.h"
#include "engine/on_each_device.h"
#include "nn/classification.h"
#include "support/random_graphs.h"

// A model's outputs on a device are the same for any device budget and any number of blocks in flight. On the
// stand-in they equal the host's outputs; on a GPU they nearly do.

namespace plimsoll {
namespace {

class DevicePredictionTest : public OnEachDevice {
 protected:
  using Predict = std::function<std::vector<float>(TrainingDevice* device, int threads)>;

  void SetUp() override {
    OnEachDevice::SetUp();
    shapes_ = read_shapes(source_, 1);
    std::iota(graphs_.begin(), graphs_.end(), int64_t{0});
  }

  PlanInput input(const Objective& objective, int threads) {
    return {.source = &source_,
            .shapes = shapes_,
            .objective = &objective,
            .limits = {4, 4096, 16384},
            .memory = {.threads = threads},
            .predicted = {graphs_}};
  }
  void expect_same(const std::vector<float>& found, const std::vector<float>& on_host) {
    ASSERT_EQ(found.size(), on_host.size());
    if (GetParam() == On::stand_in) {
      EXPECT_EQ(found, on_host);
      return;
    }
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], on_host[i], 1e-4) << i;
  }
  void expect_same_for_all_budgets(const Predict& predict, int64_t min) {
    const std::vector<float> expected = predict(&device(kRoomy), 1);
    expect_same(expected, predict(nullptr, 1));
    EXPECT_EQ(predict(&device(kRoomy), kThreads), expected) << "several blocks in flight";
    EXPECT_EQ(predict(&device(min), kThreads), expected) << "as little as it takes";
    TrainingDevice& tested = device(min - device(min).unit());
    EXPECT_THROW(predict(&tested, 1), Error) << "and less";
  }

  RandomGraphs source_{60, 20, 7};
  Vector<GraphShape, Tag::columns> shapes_;
  GraphList graphs_ = GraphList(60);
};
INSTANTIATE_TEST_SUITE_P(, DevicePredictionTest, testing::Values(On::stand_in, On::cuda), name_of_on);

TEST_P(DevicePredictionTest, ClassesAreTheSameForAnyDeviceBudget) {
  const GATWithJK model({.num_ids = 20, .dropout = 0.5}, 3);
  const Classification objective(model);
  TrainingDevice& tested = device(kRoomy);
  const int64_t min =
      PlannedEngine(input(objective, 1), &tested).plan().device->min_budget - tested.context();
  expect_same_for_all_budgets(
      [&](TrainingDevice* device, int threads) {
        PlannedEngine engine(input(objective, threads), device);
        std::vector<float> found(graphs_.size() * static_cast<size_t>(objective.outputs()));
        engine->predict(graphs_, found);
        return found;
      },
      min);
}

TEST_P(DevicePredictionTest, ScoresOfAnAutoencoderAreTheSameForAnyDeviceBudget) {
  Detector detector;
  detector.vgae = std::make_unique<GraphAutoencoderNeighborhood>(
      VgaeOptions{.num_ids = 20, .hidden = {12}, .latent = 4, .dropout = 0.5}, 3);
  const auto scorer = [&](TrainingDevice* device, int threads) {
    return std::make_unique<Scorer>(detector,
                                    ScorerOptions{.source = &source_,
                                                  .shapes = shapes_,
                                                  .limits = {4, 4096, 16384},
                                                  .memory = {.threads = threads},
                                                  .device = device},
                                    std::vector<std::span<const int64_t>>{graphs_});
  };
  TrainingDevice& tested = device(kRoomy);
  const int64_t min = scorer(&tested, 1)->plan().device->min_budget - tested.context();
  expect_same_for_all_budgets(
      [&](TrainingDevice* device, int threads) {
        const auto found = scorer(device, threads)->scores(graphs_);
        return std::vector<float>(found.begin(), found.end());
      },
      min);
}

}  // namespace
}  // namespace plimsoll

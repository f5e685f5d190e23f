#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "can/tasks/scorer.h"
#include "engine/on_each_device.h"
#include "nn/classification.h"
#include "support/random_graphs.h"

// What a model says of graphs is the same on a device for any budget there and any number of blocks in
// flight: what it says on the host on the stand-in, and nearly that on a GPU.

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
            .threads = threads,
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
    const std::vector<float> one = predict(&device(kRoomy), 1);
    expect_same(one, predict(nullptr, 1));
    EXPECT_EQ(predict(&device(kRoomy), kThreads), one) << "several blocks in flight";
    EXPECT_EQ(predict(&device(min), kThreads), one) << "as little as it takes";
    TrainingDevice& of = device(min - device(min).unit());
    EXPECT_THROW(predict(&of, 1), Error) << "and less";
  }

  RandomGraphs source_{60, 20, 7};
  Vector<GraphShape, Tag::columns> shapes_;
  GraphList graphs_ = GraphList(60);
};
INSTANTIATE_TEST_SUITE_P(, DevicePredictionTest, testing::Values(On::stand_in, On::cuda), name_of_on);

TEST_P(DevicePredictionTest, ClassesAreTheSameForAnyDeviceBudget) {
  const GATWithJK model({.num_ids = 20, .dropout = 0.5}, 3);
  const Classification objective(model);
  TrainingDevice& of = device(kRoomy);
  const int64_t min = PlannedEngine(input(objective, 1), &of).plan().device->min_budget - of.context();
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
                                                  .threads = threads,
                                                  .device = device},
                                    std::vector<std::span<const int64_t>>{graphs_});
  };
  TrainingDevice& of = device(kRoomy);
  const int64_t min = scorer(&of, 1)->plan().device->min_budget - of.context();
  expect_same_for_all_budgets(
      [&](TrainingDevice* device, int threads) {
        const auto found = scorer(device, threads)->scores(graphs_);
        return std::vector<float>(found.begin(), found.end());
      },
      min);
}

}  // namespace
}  // namespace plimsoll

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "base/units.h"
#include "device/cuda_device.h"
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

// A run whose blocks go to a device has the same bits whatever its budget there, its blocks in flight and its
// stops: those of the host where the device computes as the host does, and nearly those on a GPU.

namespace plimsoll {
namespace {

enum class On { plain, cuda };

constexpr int kThreads = 3;
constexpr int64_t kRoomy = 256 * kMiB;  // beside the context

class DeviceFitTest : public ::testing::TestWithParam<On> {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    if (find_cuda_devices().count > 0) cuda_ = TrainingDevice::open_cuda(0, 2 * kGiB, kThreads);
    warm_up_torch(2);
  }
  static void TearDownTestSuite() { cuda_.reset(); }
  void SetUp() override {
    if (GetParam() == On::cuda && cuda_ == nullptr) GTEST_SKIP() << find_cuda_devices().why_none;
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
  using Fitted = std::function<FitResult(const Objective& objective, const Objective* teacher)>;
  using Make = std::function<Trained(const Fitted& fit)>;

  TrainingDevice& device(int64_t bytes) {
    if (GetParam() == On::cuda) {
      cuda_->resize(cuda_->context() + bytes);
      return *cuda_;
    }
    plain_ = std::make_unique<TrainingDevice>(std::make_unique<PlainDevice>(bytes), bytes, kThreads);
    return *plain_;
  }
  // On the host without a device.
  Trained run(const Make& make, TrainingDevice* device, int threads, int64_t stop_after = 0) {
    const auto folder = folder_ / std::to_string(runs_++);
    std::filesystem::create_directories(folder);
    std::atomic<bool> stop = false;
    int64_t steps = 0;
    const auto once = [&](const Objective& objective, const Objective* teacher, bool resume) {
      return fit({.source = &source_,
                  .shapes = shapes_,
                  .objective = &objective,
                  .recipe = &recipe_,
                  .split = &split_,
                  .teacher = {.live = teacher},
                  .run = {.folder = folder,
                          .identity = "test",
                          .resume = resume,
                          .threads = threads,
                          .device = device,
                          .interrupt = &stop,
                          .progress = [&](int64_t, int64_t, const std::string&) {
                            if (++steps == stop_after) stop = true;
                          }}});
    };
    return make([&](const Objective& objective, const Objective* teacher) {
      if (stop_after > 0) {
        EXPECT_THROW(once(objective, teacher, false), Interrupted);
        stop = false;
      }
      return once(objective, teacher, stop_after > 0);
    });
  }

  void expect_same_bits(const Make& make) {
    const Trained host = run(make, nullptr, 1);
    ASSERT_FALSE(host.fit.device);
    const Trained there = run(make, &device(kRoomy), 1);
    if (GetParam() == On::plain) EXPECT_EQ(there.weights, host.weights);
    EXPECT_NEAR(there.fit.epochs.back().validation_loss, host.fit.epochs.back().validation_loss,
                2e-3 * host.fit.epochs.back().validation_loss);
    ASSERT_TRUE(there.fit.device);
    EXPECT_LE(there.fit.device->highest_range, there.fit.device->range);
    EXPECT_GT(there.fit.device->highest_range, 0);
    EXPECT_EQ(run(make, &device(kRoomy), kThreads).weights, there.weights) << "several blocks in flight";
    EXPECT_EQ(run(make, &device(kRoomy), 2, /*stop_after=*/3).weights, there.weights)
        << "stopped and resumed";
    // As little as it takes, and a page less.
    TrainingDevice& of = device(kRoomy);
    const int64_t least = there.fit.plan.device->min_budget - of.context();
    const Trained tight = run(make, &device(least + kPage), kThreads);
    EXPECT_EQ(tight.weights, there.weights);
    EXPECT_EQ(tight.fit.device->lanes, 1);
    EXPECT_THROW(run(make, &device(least - kPage), 1), Error);
  }
  // What a region may lose to rounding.
  int64_t kPage = GetParam() == On::cuda ? 2 * kMiB : 256;

  static inline std::unique_ptr<TrainingDevice> cuda_;
  std::unique_ptr<TrainingDevice> plain_;
  TempFolder folder_;
  RandomGraphs source_{120, 50, 7};
  Vector<GraphShape, Tag::columns> shapes_;
  TrainingSplit split_;
  Recipe recipe_;
  int runs_ = 0;
};
INSTANTIATE_TEST_SUITE_P(, DeviceFitTest, testing::Values(On::plain, On::cuda),
                         [](const auto& of) { return of.param == On::plain ? "plain" : "cuda"; });

TEST_P(DeviceFitTest, ClassificationWithDroppedIds) {
  expect_same_bits([](const Fitted& fit) -> Trained {
    const GATWithJK model({.num_ids = 50}, 3);
    const Classification objective(model);
    const IdDropout dropping(objective, {.index = 49, .node_columns = {1}, .edge_columns = {0}}, 0.5);
    FitResult found = fit(dropping, nullptr);
    return {model.parameters().hash(), std::move(found)};
  });
}

TEST_P(DeviceFitTest, ClassificationByGatv2) {
  expect_same_bits([](const Fitted& fit) -> Trained {
    const GATWithJK model({.num_ids = 50, .attention = "gatv2", .edge_features = 11}, 3);
    const Classification objective(model);
    FitResult found = fit(objective, nullptr);
    return {model.parameters().hash(), std::move(found)};
  });
}

TEST_P(DeviceFitTest, Reconstruction) {
  expect_same_bits([](const Fitted& fit) -> Trained {
    const GraphAutoencoderNeighborhood model({.num_ids = 50}, 3);
    const Reconstruction objective(model, {});
    FitResult found = fit(objective, nullptr);
    return {model.parameters().hash(), std::move(found)};
  });
}

TEST_P(DeviceFitTest, DistillationFromALiveTeacher) {
  expect_same_bits([](const Fitted& fit) -> Trained {
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

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "base/json.h"
#include "base/units.h"
#include "engine/fit/fit.h"
#include "engine/on_each_device.h"
#include "io/file.h"
#include "nn/classification.h"
#include "nn/gat_distillation.h"
#include "nn/gat_with_jk.h"
#include "nn/id_dropout.h"
#include "nn/live_teacher.h"
#include "nn/reconstruction.h"
#include "nn/sgmp.h"
#include "nn/vgae.h"
#include "support/fake_nvml.h"
#include "support/ledger_cap.h"
#include "support/random_graphs.h"
#include "support/stage_calls.h"
#include "support/temp_folder.h"

// A run whose blocks run on a device has the same bits for any device budget, number of blocks in flight and
// stops. On the stand-in, which computes as the host does, they are exactly the host's bits; on a GPU the
// results nearly equal the host's.

namespace plimsoll {
namespace {

// The same graphs with a position of each node, for models of paths.
class PlacedGraphs : public BlockSource {
 public:
  explicit PlacedGraphs(const RandomGraphs& graphs) : graphs_(graphs) {}
  int64_t graphs() const override { return graphs_.graphs(); }
  int64_t node_features() const override { return graphs_.node_features(); }
  int64_t edge_features() const override { return graphs_.edge_features(); }
  RowWidths widths() const override {
    RowWidths widths = graphs_.widths();
    widths.coordinates = kCoordinates;
    return widths;
  }
  const GraphSetTables& tables() const override { return graphs_.tables(); }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override {
    graphs_.read(graphs, block);
    block.pos.resize(static_cast<size_t>(3 * block.nodes()));
    for (size_t n = 0; n < block.pos.size(); ++n) block.pos[n] = block.x[n / 3 * 11 + 1 + n % 3];
  }

 private:
  const RandomGraphs& graphs_;
};

class DeviceFitTest : public OnEachDevice {
 protected:
  void SetUp() override {
    OnEachDevice::SetUp();
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

  // Trains on the host, without a device.
  Trained run(const Make& make, TrainingDevice* device, int threads, int64_t stop_after = 0) {
    const auto folder = folder_ / std::to_string(runs_++);
    std::filesystem::create_directories(folder);
    std::atomic<bool> stop = false;
    int64_t steps = 0;
    StageCalls calls;
    calls.progress = [&](int64_t) {
      if (++steps == stop_after) stop = true;
    };
    const auto once = [&](const Objective& objective, const Objective* teacher, bool resume) {
      return fit({.source = of_graphs_,
                  .shapes = shapes_,
                  .objective = &objective,
                  .recipe = &recipe_,
                  .split = &split_,
                  .teacher = {.live = teacher},
                  .run = {.folder = folder,
                          .identity = "test",
                          .resume = resume,
                          .memory = {.threads = threads},
                          .device = device,
                          .interrupt = &stop,
                          .observer = &calls}});
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
    const Trained on_device = run(make, &device(kRoomy), 1);
    if (GetParam() == On::stand_in) {
      EXPECT_EQ(on_device.weights, host.weights);
    }
    EXPECT_NEAR(on_device.fit.epochs.back().validation_loss, host.fit.epochs.back().validation_loss,
                2e-3 * host.fit.epochs.back().validation_loss);
    ASSERT_TRUE(on_device.fit.device);
    EXPECT_LE(on_device.fit.device->highest_range, on_device.fit.device->range);
    EXPECT_GT(on_device.fit.device->highest_range, 0);
    const Trained several = run(make, &device(kRoomy), kThreads);
    EXPECT_EQ(several.weights, on_device.weights) << "several blocks in flight";
    // The host's plan covers only what a device leaves to it.
    EXPECT_EQ(several.fit.overflows + several.fit.unforeseen + several.fit.reruns, 0);
    {
      const LedgerCap cap(several.fit.plan.peak - Ledger::process().held());
      EXPECT_EQ(run(make, &device(kRoomy), kThreads).weights, on_device.weights)
          << "with the host's planned peak";
    }
    EXPECT_EQ(run(make, &device(kRoomy), 2, /*stop_after=*/3).weights, on_device.weights)
        << "stopped and resumed";
    // The smallest budget works, and less does not.
    const TrainingDevice& opened = device(kRoomy);
    const int64_t min = on_device.fit.plan.device->min_budget - opened.context();
    const int64_t unit = opened.unit();
    const Trained tight = run(make, &device(min), kThreads);
    EXPECT_EQ(tight.weights, on_device.weights);
    EXPECT_EQ(tight.fit.device->lanes, 1);
    EXPECT_THROW(run(make, &device(min - unit), 1), Error);
  }

  TempFolder folder_;
  RandomGraphs source_{120, 50, 7};
  const BlockSource* of_graphs_ = &source_;
  Vector<GraphShape, Tag::columns> shapes_;
  TrainingSplit split_;
  Recipe recipe_;
  int runs_ = 0;
};
INSTANTIATE_TEST_SUITE_P(, DeviceFitTest, testing::Values(On::stand_in, On::cuda), name_of_on);

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
    const GATWithJK model({.num_ids = 50, .attention = AttentionKind::gatv2, .edge_features = 11}, 3);
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

// Messages over paths use special kernels on a GPU, and the CPU's kernels on the stand-in's memory.
TEST_P(DeviceFitTest, ClassificationOverPaths) {
  const PlacedGraphs placed(source_);
  of_graphs_ = &placed;
  expect_same_bits([&](const Fitted& fit) -> Trained {
    const Sgmp model({.in_features = 11, .hidden = 8, .layers = 2, .tile = 64, .aggregate = PathReduce::mean},
                     3);
    const Classification objective(model);
    FitResult found = fit(objective, nullptr);
    return {model.parameters().hash(), std::move(found)};
  });
}

// Products in bfloat16 or float16 give other bits than in float32, but the same bits for any budget, number
// of blocks in flight and resumption.
class MixedPrecisionTest : public DeviceFitTest {
 protected:
  void expect_same_bits(Precision precision, const std::vector<GradientCheckpointing>& recompute);
  void expect_refused_on_the_host();
};
INSTANTIATE_TEST_SUITE_P(, MixedPrecisionTest, testing::Values(On::stand_in, On::cuda), name_of_on);

void MixedPrecisionTest::expect_same_bits(Precision precision,
                                          const std::vector<GradientCheckpointing>& recompute) {
  recipe_.training.precision = precision;
  std::string classified;  // Hash of the weights.
  for (const GradientCheckpointing checkpointing : recompute)
    for (const bool rebuilds : {false, true}) {
      recipe_.training.gradient_checkpointing = checkpointing;
      const auto make = [&](const Fitted& fit) -> Trained {
        if (rebuilds) {
          const GraphAutoencoderNeighborhood model({.num_ids = 50}, 3);
          const Reconstruction objective(model, {});
          FitResult found = fit(objective, nullptr);
          return {model.parameters().hash(), std::move(found)};
        }
        const GATWithJK model({.num_ids = 50}, 3);
        const Classification objective(model);
        FitResult found = fit(objective, nullptr);
        return {model.parameters().hash(), std::move(found)};
      };
      const Trained single = run(make, &device(kRoomy), 1);
      EXPECT_EQ(run(make, &device(kRoomy), kThreads).weights, single.weights) << "several blocks in flight";
      EXPECT_EQ(run(make, &device(kRoomy), 2, /*stop_after=*/3).weights, single.weights)
          << "stopped and resumed";
      const int64_t min = single.fit.plan.device->min_budget - device(kRoomy).context();
      EXPECT_EQ(run(make, &device(min), kThreads).weights, single.weights) << "as little as it takes";
      recipe_.training.precision = Precision::full;
      const Trained full = run(make, &device(kRoomy), 1);
      recipe_.training.precision = precision;
      EXPECT_NE(full.weights, single.weights);
      EXPECT_NEAR(single.fit.epochs.back().validation_loss, full.fit.epochs.back().validation_loss,
                  0.05 * full.fit.epochs.back().validation_loss);
      if (rebuilds) continue;
      if (classified.empty()) classified = single.weights;
      EXPECT_EQ(single.weights, classified) << "layers run again";
    }
}

void MixedPrecisionTest::expect_refused_on_the_host() {
  EXPECT_THROW(run(
                   [](const Fitted& fit) -> Trained {
                     const GATWithJK model({.num_ids = 50}, 3);
                     const Classification objective(model);
                     return {"", fit(objective, nullptr)};
                   },
                   nullptr, 1),
               UsageError)
      << "on the CPU";
}

TEST_P(MixedPrecisionTest, Bfloat16) {
  expect_same_bits(Precision::bf16_mixed, {GradientCheckpointing::off, GradientCheckpointing::on});
  expect_refused_on_the_host();
}

TEST_P(MixedPrecisionTest, Float16) {
  expect_same_bits(Precision::fp16_mixed, {GradientCheckpointing::off});
  expect_refused_on_the_host();
}

// An objective with large losses, so that the first scales are too large for float16.
class Steep : public Classification {
 public:
  using Classification::Classification;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override {
    return Classification::losses(outputs, batch) * 64;
  }
};

TEST_P(MixedPrecisionTest, TooLargeAScaleCostsStepsAndChangesNoBitsOfAResumedRun) {
  recipe_.training.precision = Precision::fp16_mixed;
  recipe_.training.gradient_clip_val = 1;
  const auto make = [&](const Fitted& fit) -> Trained {
    const GATWithJK model({.num_ids = 50}, 3);
    const Steep objective(model);
    FitResult found = fit(objective, nullptr);
    return {model.parameters().hash(), std::move(found)};
  };
  const Trained single = run(make, &device(kRoomy), 1);
  const int64_t steps = 2 * 96 / 24;
  EXPECT_LT(single.fit.steps, steps);
  EXPECT_GT(single.fit.steps, 0);
  const std::string journal = read_text(folder_ / "0" / "events.jsonl");
  EXPECT_NE(journal.find(R"("event":"loss_scale","epoch":1,"step":0,"factor":32768.0)"), std::string::npos)
      << journal;
  for (const int64_t stop_after : {1, 3, 5})
    EXPECT_EQ(run(make, &device(kRoomy), kThreads, stop_after).weights, single.weights) << stop_after;
}

TEST_P(DeviceFitTest, TheJournalHasWhatNvmlSaysAndNothingWithoutIt) {
  if (GetParam() == On::cuda) GTEST_SKIP() << "its driver says what it likes";
  recipe_.training.max_epochs = 1;
  for (const bool has_nvml : {false, true}) {
    FakeNvml::set(1000, 0, /*fails=*/!has_nvml);
    TrainingDevice opened(make_host_device({.bytes = kRoomy, .host_computes = true}), kRoomy, kThreads,
                          GpuMonitor::open(FakeNvml::kBus, FakeNvml::kLibrary));
    FakeNvml::set(5000, 75);
    FakeNvml::add_process(static_cast<unsigned int>(::getpid()), 3000);
    const GATWithJK model({.num_ids = 50}, 3);
    const Classification objective(model);
    const auto folder = folder_ / (has_nvml ? "with" : "without");
    std::filesystem::create_directories(folder);
    const FitResult found = fit({.source = &source_,
                                 .shapes = shapes_,
                                 .objective = &objective,
                                 .recipe = &recipe_,
                                 .split = &split_,
                                 .run = {.folder = folder, .identity = "test", .device = &opened}});
    EXPECT_EQ(found.device->process, has_nvml ? std::optional<int64_t>(3000) : std::nullopt);
    const EpochCost& cost = found.epochs.front().cost;
    EXPECT_EQ(cost.device_planned, found.device->planned);
    EXPECT_EQ(cost.device_used, found.device->measured);
    EXPECT_GT(cost.device_used, 0);
    EXPECT_EQ(cost.device_process, has_nvml ? 3000 : 0);
    EXPECT_EQ(cost.device_busy, has_nvml ? 0.75 : 0);
    const std::string table = read_text(folder / "metrics.csv");
    EXPECT_NE(table.find(",device_planned_bytes,device_used_bytes,device_process_bytes,device_busy\n"),
              std::string::npos);
    EXPECT_NE(table.find(fmt::format(",{},{},{},{}\n", cost.device_planned, cost.device_used,
                                     cost.device_process, has_nvml ? "0.75" : "0")),
              std::string::npos)
        << table;
    std::istringstream lines(read_text(folder / "events.jsonl"));
    int64_t events = 0;
    for (std::string line; std::getline(lines, line);) {
      const Json event = parse_json(line);
      if (event.at("event") != "progress") continue;
      ++events;
      EXPECT_EQ(event.contains("device"), has_nvml);
      if (has_nvml) {
        EXPECT_EQ(event.at("device"), Json({{"process_bytes", 3000}, {"used_bytes", 5000}, {"busy", 0.75}}));
      }
    }
    EXPECT_GT(events, 0);
  }
}

// Plans without a step: the plan equals that of fit(). With `trial` the blocks of a step run in flight
// together, which changes no bits.
TEST_P(DeviceFitTest, PlansAsItTrainsAndTriesThePlanOut) {
  const auto trained = [&](Estimation estimation) {
    recipe_.memory.estimation = estimation;
    return run(
        [](const Fitted& fit) -> Trained {
          const GraphAutoencoderNeighborhood model({.num_ids = 50}, 3);
          FitResult found = fit(Reconstruction(model, {}), nullptr);
          return {model.parameters().hash(), std::move(found)};
        },
        &device(kRoomy), kThreads);
  };
  const Trained measured = trained(Estimation::measured), tried = trained(Estimation::trial);
  EXPECT_EQ(tried.weights, measured.weights);
  EXPECT_EQ(tried.fit.device->reruns, 0);
  const auto planned = [&](Estimation estimation, TrainingDevice& on) {
    recipe_.memory.estimation = estimation;
    const GraphAutoencoderNeighborhood model({.num_ids = 50}, 3);
    const Reconstruction objective(model, {});
    return plan_fit({.source = of_graphs_,
                     .shapes = shapes_,
                     .objective = &objective,
                     .recipe = &recipe_,
                     .split = &split_,
                     .run = {.memory = {.threads = kThreads}, .device = &on}});
  };
  for (const Estimation estimation : {Estimation::measured, Estimation::trial}) {
    const MemoryPlan plan = planned(estimation, device(kRoomy));
    const DevicePlan& expected = *measured.fit.plan.device;
    EXPECT_EQ(plan.device->min_budget, expected.min_budget) << word_of(estimation);
    EXPECT_EQ(plan.device->peak, expected.peak) << word_of(estimation);
    EXPECT_EQ(plan.device->blocks, expected.blocks) << word_of(estimation);
    EXPECT_EQ(plan.device->exact, expected.exact) << word_of(estimation) << ": " << plan.device->why_inexact;
    TrainingDevice& opened = device(kRoomy);
    EXPECT_THROW(planned(estimation, device(expected.min_budget - opened.context() - opened.unit())),
                 BudgetTooSmall);
  }
}

// Places the first tensor in the middle of the range, and plans no other tensor.
struct WrongPlan : RangePlanner {
  explicit WrongPlan(int64_t bytes) : range(bytes) {}
  void plan(std::span<const int64_t>, RangePlan& plan) const override {
    plan.pieces.assign(1, {.place = range / 2 / 256 * 256, .bytes = range / 4});
  }
  const int64_t range;
};

// Blocks that find no space in their lane's range run again with the ranges of all lanes and without their
// plan. Gradients and running statistics are the same, and the lanes exist again afterwards.
TEST_P(DeviceFitTest, BlocksWithoutRoomRunAgainAlone) {
  const GraphAutoencoderNeighborhood model({.num_ids = 50}, 3);
  const Reconstruction objective(model, {});
  const BlockLimits limits{.graphs = 4, .nodes = 4096, .edges = 16384};
  TrainingDevice& opened = device(kRoomy + kThreads * device(kRoomy).workspace());
  DeviceBlocks blocks(opened.device(), opened.tensors(), opened.torch(), {&objective.parameters()});
  const auto bits = [&](int lanes, int64_t bytes, std::shared_ptr<const RangePlanner> plan = nullptr) {
    blocks.make_lanes(lanes, bytes);
    BlockEngine engine(source_, shapes_, objective, limits,
                       {.blocks = lanes, .device = &blocks, .device_training = std::move(plan)});
    std::vector<std::vector<float>> found;
    for (int step = 0; step < 2; ++step) {
      engine.gradient(std::span(split_.training).first(48), {true, 1, 1});
      for (const at::Tensor& gradient : engine.gradients())
        found.emplace_back(gradient.const_data_ptr<float>(),
                           gradient.const_data_ptr<float>() + gradient.numel());
    }
    for (const ParameterList::Entry& buffer : objective.parameters().buffers()) {
      found.emplace_back(buffer.value.const_data_ptr<float>(),
                         buffer.value.const_data_ptr<float>() + buffer.value.numel());
      buffer.value.zero_();
    }
    return found;
  };
  for (const ParameterList::Entry& buffer : objective.parameters().buffers()) buffer.value.zero_();
  const auto expected = bits(1, 8 * kMiB);
  EXPECT_EQ(blocks.reruns(), 0);
  const int64_t needed = (blocks.highest_range() + 255) / 256 * 256;
  EXPECT_EQ(bits(3, needed), expected);
  EXPECT_EQ(blocks.reruns(), 0);
  EXPECT_EQ(bits(3, needed * 2 / 3 / 256 * 256), expected);
  EXPECT_GT(blocks.reruns(), 0);
  EXPECT_EQ(bits(1, needed, std::make_shared<WrongPlan>(needed)), expected);
  EXPECT_GT(blocks.reruns(), 0);
  EXPECT_THROW(bits(1, needed / 2 / 256 * 256), DeviceRegionFull);

  // Each recording is of one run, so that a plan that does not hold cannot pass for one that does.
  BlockEngine engine(source_, shapes_, objective, limits, {.device = &blocks});
  GraphBlock block;
  source_.read(std::span(split_.training).first(4), block);
  blocks.make_lanes(1, 8 * kMiB);
  const int64_t unplanned = DeviceRegion::round_up(engine.record_on_device(block, true).bytes);
  blocks.make_lanes(1, unplanned);
  const WrongPlan wrong(unplanned);
  EXPECT_THROW(engine.record_on_device(block, true, &wrong), DeviceRegionFull);
}

// Whatever the device refuses, a run ends with the same bits, or with a typed error and files from which it
// can continue.
TEST_P(DeviceFitTest, ARefusedAllocationNeverChangesBits) {
  if (GetParam() == On::cuda) GTEST_SKIP() << "a GPU gives its region once, and no more is asked of it";
  recipe_.training.batch_size = 12;
  recipe_.training.checkpoint_every_s = 0;
  split_.training.resize(36);
  int64_t reruns = 0;
  const auto trained = [&](const std::filesystem::path& folder, int64_t refused, bool resume) {
    refused_ = refused;
    const GATWithJK model({.num_ids = 50}, 3);
    const Classification objective(model);
    TrainingDevice& opened = device(8 * kMiB);
    reruns += fit({.source = &source_,
                   .shapes = shapes_,
                   .objective = &objective,
                   .recipe = &recipe_,
                   .split = &split_,
                   .run = {.folder = folder,
                           .identity = "test",
                           .resume = resume,
                           .memory = {.threads = kThreads},
                           .device = &opened}})
                  .device->reruns;
    return model.parameters().hash();
  };
  const auto folder_of = [&](int64_t trial) {
    const auto folder = folder_ / std::to_string(trial);
    std::filesystem::create_directories(folder);
    return folder;
  };
  const std::string expected = trained(folder_of(0), 0, false);
  const int64_t all = asked_;
  ASSERT_GT(all, 1000);
  int64_t ended = 0;
  int64_t went_on = 0;
  const int64_t step = all / 50;
  for (int64_t refused = 1; refused <= all; refused += step) {
    const auto folder = folder_of(refused);
    try {
      EXPECT_EQ(trained(folder, refused, false), expected) << "without allocation " << refused;
      ++went_on;
    } catch (const Error&) {
      ++ended;
      EXPECT_EQ(trained(folder, 0, true), expected) << "resumed after allocation " << refused << " failed";
    }
  }
  EXPECT_GT(ended, 0);
  EXPECT_GT(went_on, 0);
  EXPECT_GT(reruns, 0);
}

// Whatever is running when a device fails, the run ends with the device's error, and no work remains.
TEST_P(DeviceFitTest, AFailedDeviceIsTold) {
  if (GetParam() == On::cuda) GTEST_SKIP() << "no GPU is broken on purpose";
  recipe_.training.max_epochs = 1;
  const auto train = [&](int64_t failed) {
    failed_ = failed;
    const GATWithJK model({.num_ids = 50}, 3);
    const Classification objective(model);
    const auto folder = folder_ / std::to_string(failed);
    std::filesystem::create_directories(folder);
    TrainingDevice& opened = device(kRoomy);
    fit({.source = &source_,
         .shapes = shapes_,
         .objective = &objective,
         .recipe = &recipe_,
         .split = &split_,
         .run = {.folder = folder, .identity = "test", .memory = {.threads = kThreads}, .device = &opened}});
  };
  train(0);
  const int64_t all = worked_;
  ASSERT_GT(all, 100);
  for (int64_t failed = 1; failed <= all; failed += all / 12) {
    try {
      train(failed);
      FAIL() << "work " << failed << " of " << all << " failed";
    } catch (const Failure& failure) {
      EXPECT_STREQ(failure.what(), "the stand-in for a device failed, as requested") << failed;
    }
  }
}

using DeviceFitDeathTest = DeviceFitTest;
INSTANTIATE_TEST_SUITE_P(, DeviceFitDeathTest, testing::Values(On::stand_in, On::cuda), name_of_on);

// After `kill -9` in the middle of an epoch, the run continues from its last checkpoint to the same bits.
TEST_P(DeviceFitDeathTest, KilledAndResumed) {
  testing::FLAGS_gtest_death_test_style =
      "threadsafe";  // The test runs again, and dies in a separate process.
  constexpr const char* kFolder = "PLIMSOLL_KILLED_RUNS";
  ::setenv(kFolder, folder_.path().c_str(), /*overwrite=*/0);
  // The dead process's files are removed with this folder.
  ::setenv("TEST_TMPDIR", folder_.path().c_str(), /*overwrite=*/0);
  recipe_.training.checkpoint_every_s = 0;
  const auto trained = [&](const std::string& name, int64_t last_step) {
    const auto folder = std::filesystem::path(std::getenv(kFolder)) / name;
    std::filesystem::create_directories(folder);
    const GATWithJK model({.num_ids = 50}, 3);
    const Classification objective(model);
    int64_t steps = 0;
    StageCalls calls;
    calls.progress = [&](int64_t) {
      if (++steps == last_step) ::kill(::getpid(), SIGKILL);
    };
    const FitResult found = fit({.source = &source_,
                                 .shapes = shapes_,
                                 .objective = &objective,
                                 .recipe = &recipe_,
                                 .split = &split_,
                                 .run = {.folder = folder,
                                         .identity = "test",
                                         .resume = true,
                                         .memory = {.threads = kThreads},
                                         .device = &device(kRoomy),
                                         .observer = &calls}});
    return std::pair(model.parameters().hash(), found.resumed_at);
  };
  const std::string expected = trained("whole", 0).first;
  for (const int64_t step : {1, 3, 6}) {
    const std::string name = "killed at " + std::to_string(step);
    EXPECT_EXIT(trained(name, step), testing::KilledBySignal(SIGKILL), "");
    const auto [weights, resumed_at] = trained(name, 0);
    EXPECT_EQ(weights, expected);
    EXPECT_EQ(resumed_at, step - 1);
  }
  ::unsetenv(kFolder);
  ::unsetenv("TEST_TMPDIR");
}

}  // namespace
}  // namespace plimsoll

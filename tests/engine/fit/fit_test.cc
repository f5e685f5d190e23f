#include "engine/fit/fit.h"

#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "engine/plan/warm_up.h"
#include "io/file.h"
#include "nn/classification.h"
#include "nn/gat_with_jk.h"
#include "ops/allocator.h"
#include "support/errors.h"
#include "support/random_graphs.h"
#include "support/stage_calls.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

/// Classification that throws BudgetExceeded while `refuses` is set.
class RefusedClassification : public Classification {
 public:
  explicit RefusedClassification(const GraphModel& model, const std::atomic<bool>& refuses)
      : Classification(model), refuses_(refuses) {}
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override {
    if (refuses_) throw BudgetExceeded(Tag::activations, 3 << 20, 1 << 20, 9 << 20);
    return Classification::forward(batch, key);
  }

 private:
  const std::atomic<bool>& refuses_;
};

/// Classification whose gradient is infinite while `is_steep` is set; its losses stay the same.
class SteepClassification : public Classification {
 public:
  SteepClassification(const GraphModel& model, const std::atomic<bool>& is_steep)
      : Classification(model), is_steep_(is_steep) {}
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override {
    const at::Tensor losses = Classification::losses(outputs, batch);
    if (!is_steep_) return losses;
    return losses + ((outputs - outputs.detach()) * 1e30 * 1e30).sum(1);
  }

 private:
  const std::atomic<bool>& is_steep_;
};

/// Pressure whose level the test changes between the steps of a run.
class FakePressure : public Pressure {
 public:
  int level() const override { return now; }
  std::string reason() const override { return "made up"; }
  void set_given_back(int64_t) override {}
  std::atomic<int> now = 0;
};

class FitTest : public ::testing::Test {
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
    recipe_.training.max_epochs = 3;
    recipe_.training.batch_size = 24;
    recipe_.training.block.graphs = 4;
  }

  // Trains a new model of the same seed; calls `step` after each step.
  FitResult run(const std::string& name, const std::function<void(int64_t)>& step,
                Pressure* pressure = nullptr, bool resume = false) {
    model_ = std::make_unique<GATWithJK>(GatOptions{.num_ids = 50}, 3);
    const RefusedClassification refused(*model_, refuses_);
    const SteepClassification steep(*model_, is_steep_);
    const Objective& objective = trains_steep_ ? static_cast<const Objective&>(steep) : refused;
    std::filesystem::create_directories(folder_ / name);
    int64_t steps = 0;
    StageCalls calls;
    calls.progress = [&](int64_t) { step(++steps); };
    return fit({.source = &source_,
                .shapes = shapes_,
                .objective = &objective,
                .recipe = &recipe_,
                .split = &split_,
                .run = {.folder = folder_ / name,
                        .identity = "test",
                        .resume = resume,
                        .memory = {.threads = 2},
                        .pressure = pressure,
                        .observer = &calls}});
  }
  std::string journal(const std::string& name) { return read_text(folder_ / name / "events.jsonl"); }

  TempFolder folder_;
  RandomGraphs source_{120, 50, 7};
  Vector<GraphShape, Tag::columns> shapes_;
  TrainingSplit split_;
  Recipe recipe_;
  std::atomic<bool> refuses_ = false;
  bool trains_steep_ = false;  // Whether to train a SteepClassification.
  std::atomic<bool> is_steep_ = false;
  std::unique_ptr<GATWithJK> model_;
};

TEST_F(FitTest, AGradientThatIsNotFiniteIsNeverApplied) {
  trains_steep_ = true;
  run("whole", [](int64_t) {});
  const std::string weights = model_->parameters().hash();
  recipe_.training.checkpoint_every_s = 0;
  const std::string text =
      error_text<Failure>([&] { run("run", [&](int64_t step) { is_steep_ = step == 5; }); });
  EXPECT_THAT(text, testing::HasSubstr("the gradient of step 1 of epoch 2 is not finite"));
  EXPECT_THAT(text, testing::HasSubstr("--force"));
  is_steep_ = false;
  EXPECT_EQ(run(
                "run", [](int64_t) {}, nullptr, true)
                .resumed_at,
            5);
  EXPECT_EQ(model_->parameters().hash(), weights);
}

TEST_F(FitTest, ABlockThatIsRefusedEvenAloneEndsTheRunWithACheckpointAndTheBytes) {
  run("whole", [](int64_t) {});
  const std::string weights = model_->parameters().hash();
  try {
    run("run", [&](int64_t step) { refuses_ = step == 6; });
    FAIL() << "no error";
  } catch (const BudgetExceeded& error) {
    EXPECT_EQ(error.exit_code(), 4);
    const std::string text = error.what();
    for (const char* part : {"stopped in epoch 2 after step 2", "--resume", "a block of 4 graphs",
                             "needs at least", "raise the budget by at least 2 MiB"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  EXPECT_NE(journal("run").find("\"rerun\""), std::string::npos);
  EXPECT_NE(journal("run").find("\"out_of_budget\""), std::string::npos);
  refuses_ = false;
  EXPECT_EQ(run(
                "run", [](int64_t) {}, nullptr, true)
                .resumed_at,
            6);
  EXPECT_EQ(model_->parameters().hash(), weights);
}

TEST_F(FitTest, UnderPressureTheWeightsAreTheSameAndTheJournalTells) {
  run("whole", [](int64_t) {});
  const std::string weights = model_->parameters().hash();
  FakePressure pressure;
  const FitResult result = run(
      "run", [&](int64_t step) { pressure.now = static_cast<int>(step / 2 % 3); }, &pressure);
  EXPECT_EQ(model_->parameters().hash(), weights);
  EXPECT_EQ(result.sheds, 2);
  for (const char* event :
       {"\"pressure\"", "\"prefetch_dropped\"", "\"blocks_reduced\"", "\"restored\"", "made up"})
    EXPECT_NE(journal("run").find(event), std::string::npos) << event;
}

}  // namespace
}  // namespace plimsoll

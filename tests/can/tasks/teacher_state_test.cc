// Tests that the three forms of a teacher teach the same.

#include "can/tasks/teacher_state.h"
#include "can/recipe/can_sections.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>

#include "can/tasks/detection_labels.h"
#include "can/tasks/gat_stage.h"
#include "can/tasks/mapped_zeros.h"
#include "can/tasks/vgae_stage.h"
#include "engine/plan/warm_up.h"
#include "memory/ledger.h"
#include "nn/classification.h"
#include "nn/encodings.h"
#include "ops/allocator.h"
#include "support/random_graphs.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

class TeacherStateTest : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    install_ledger_allocator();
    warm_up_torch(2);
  }
  void SetUp() override {
    shapes_ = read_shapes(source_, 1);
    for (int64_t g = 0; g < source_.graphs(); ++g) {
      (g < 200 ? split_.training : split_.validation).push_back(g);
      all_.push_back(g);
    }
    if (is_vgae()) {
      split_ = benign_split(split_, shapes_);
      all_ = benign_of(all_, shapes_);
    }
    recipe_.training.max_epochs = 2;
    recipe_.training.batch_size = 32;
    recipe_.training.block.graphs = 4;
    can_sections(recipe_).vgae = {.hidden = {12}, .latent = 4};
    can_sections(recipe_).gat = {.embedding = 4, .layers = 2, .hidden = 6, .heads = 2};
    can_sections(teacher_).vgae = {.hidden = {256, 128}, .latent = 8, .heads = 2};
    can_sections(teacher_).gat = {.embedding = 8, .layers = 2, .hidden = 24, .heads = 4, .fc_layers = 3};
    save_detector(file(), teacher());
  }

  bool is_vgae() const { return std::string(GetParam()) == "vgae"; }
  std::filesystem::path file() const { return folder_ / "teacher.safetensors"; }
  Detector teacher() const {
    Detector detector;
    if (is_vgae())
      detector.vgae = make_vgae(teacher_, source_);
    else
      detector.gat = make_gat(teacher_, source_);
    return detector;
  }

  // The teacher's outputs for all graphs, in the order of the data set.
  std::vector<float> column() {
    const Detector detector = load_detector(file());
    std::unique_ptr<Objective> teacher_outputs;
    if (is_vgae())
      teacher_outputs = std::make_unique<Encodings>(*detector.vgae);
    else
      teacher_outputs = std::make_unique<Classification>(*detector.gat);
    width_ = teacher_outputs->outputs();
    std::vector<float> values;
    BlockEngine engine(source_, shapes_, *teacher_outputs, {4, 4096, 16384});
    engine.predict(all_, [&](std::span<const float> outputs) {
      values.insert(values.end(), outputs.begin(), outputs.end());
    });
    return values;
  }

  // Calls `use` with the teacher of a mode.
  template <typename Use>
  auto with_teacher(const std::string& mode, const Use& use) {
    if (mode == "cached") {
      const std::vector<float> values = column();
      TeacherState teaching(
          CachedTeacher(source_, {.values = values, .width = width_, .of_nodes = is_vgae()}, all_, shapes_));
      return use(teaching.outputs());
    }
    if (mode == "live") {
      TeacherState teaching(load_detector(file()));
      return use(teaching.outputs());
    }
    MappedDetector mapped = map_detector(file());
    TeacherState teaching(
        std::move(mapped.detector), [view = mapped.file] { view->release(); }, shapes_, split_,
        recipe_.training);
    return use(teaching.outputs());
  }

  VgaeStageOptions vgae_options(const TeacherOutputs& teacher, const RunOptions& run) const {
    return {.source = &source_,
            .shapes = shapes_,
            .recipe = &recipe_,
            .split = &split_,
            .teacher = teacher,
            .teacher_latent = can_sections(teacher_).vgae.latent,
            .facts = {},
            .run = run};
  }
  GatStageOptions gat_options(const TeacherOutputs& teacher, const RunOptions& run) const {
    return {.source = &source_,
            .shapes = shapes_,
            .recipe = &recipe_,
            .split = &split_,
            .teacher = teacher,
            .facts = {},
            .run = run};
  }

  StageResult train(const TeacherOutputs& teacher, const RunOptions& run) {
    return is_vgae() ? train_vgae(vgae_options(teacher, run)) : train_gat(gat_options(teacher, run));
  }
  StageResult train(const std::string& mode, int threads = 1, int64_t prefetch = 2) {
    const RunOptions run{.folder = folder_ / ("run " + std::to_string(runs_++)),
                         .identity = "test",
                         .memory = {.threads = threads},
                         .prefetch = prefetch};
    std::filesystem::create_directories(run.folder);
    return with_teacher(mode, [&](const TeacherOutputs& teacher) { return train(teacher, run); });
  }

  MemoryPlan plan(const TeacherOutputs& teacher, bool without_data = false, int threads = 1) {
    const RunOptions run{.folder = {},
                         .identity = {},
                         .memory = {.threads = threads},
                         .prefetch = 0,
                         .without_data = without_data};
    return is_vgae() ? plan_vgae(vgae_options(teacher, run)) : plan_gat(gat_options(teacher, run));
  }
  MemoryPlan plan(const std::string& mode) {
    return with_teacher(mode, [&](const TeacherOutputs& teacher) { return plan(teacher); });
  }
  static int64_t part(const MemoryPlan& plan, const std::string& name) {
    for (const auto& [part, bytes] : plan.parts)
      if (part == name) return bytes;
    return 0;
  }

  TempFolder folder_;
  RandomGraphs source_{300, 1, 7};
  Vector<GraphShape, Tag::columns> shapes_;
  TrainingSplit split_;
  GraphList all_;
  Recipe recipe_;
  Recipe teacher_;
  int64_t width_ = 0;
  int runs_ = 0;
};

// Uses plain gradient steps: Adam also makes full steps if a gradient is zero up to rounding, such as that of
// a bias before a normalisation.
TEST_P(TeacherStateTest, LossesAreThoseOfTheColumn) {
  recipe_.training.optimizer = OptimizerKind::sgd;
  recipe_.training.learning_rate = 0.05;
  const StageResult cached = train("cached");
  for (const char* const mode : {"live", "offload"}) {
    const StageResult evaluated = train(mode);
    for (size_t e = 0; e < cached.fit.epochs.size(); ++e) {
      const EpochMetrics& a = cached.fit.epochs[e];
      const EpochMetrics& b = evaluated.fit.epochs[e];
      EXPECT_NEAR(b.training_loss, a.training_loss, 1e-6 * std::abs(a.training_loss)) << mode;
      EXPECT_NEAR(b.validation_loss, a.validation_loss, 1e-6 * std::abs(a.validation_loss)) << mode;
    }
    const auto& weights = cached.detector.parameters().entries();
    const auto& others = evaluated.detector.parameters().entries();
    for (size_t p = 0; p < weights.size(); ++p)
      EXPECT_LT((others[p].value - weights[p].value).abs().max().item<double>(), 1e-6)
          << mode << ", " << weights[p].name;
  }
}

TEST_P(TeacherStateTest, BitsDoNotDependOnThreadsOrWhatIsReadAhead) {
  for (const char* const mode : {"live", "offload"}) {
    const StageResult single = train(mode);
    for (const int threads : {1, 3}) {
      const StageResult more = train(mode, threads, /*prefetch=*/0);
      EXPECT_EQ(more.weights_hash, single.weights_hash) << mode;
      EXPECT_EQ(more.fit.best_loss, single.fit.best_loss) << mode;
      EXPECT_EQ(more.fit.overflows + more.fit.unforeseen + more.fit.reruns, 0) << mode;
    }
  }
}

// With the smallest budget, graphs are read twice, and one block is in flight.
TEST_P(TeacherStateTest, TheSmallestBudgetIsEnoughAndChangesNoBit) {
  const StageResult ample = train("offload", 2);
  EXPECT_EQ(ample.fit.plan.execution.keep, 32 / 4);
  const RunOptions run{.folder = folder_ / "least", .identity = "test", .memory = {.threads = 2}};
  std::filesystem::create_directories(run.folder);
  with_teacher("offload", [&](const TeacherOutputs& teacher) {
    Ledger::process().begin_recent();
    plan(teacher, false, 2);  // BLAS allocates its buffers first; otherwise a first plan might see them grow.
    const int64_t min = plan(teacher, false, 2).min_budget;
    Ledger::process().set_cap(min);
    const StageResult result = train(teacher, run);
    Ledger::process().set_cap(Ledger::kUnlimited);
    EXPECT_EQ(result.fit.plan.execution.keep, 0);
    EXPECT_EQ(result.fit.plan.execution.blocks, 1);
    EXPECT_EQ(result.weights_hash, ample.weights_hash);
    EXPECT_EQ(result.fit.overflows + result.fit.unforeseen + result.fit.reruns, 0);
    return 0;
  });
}

// The teacher is released each time before the student sees the block that the teacher was evaluated on.
TEST_P(TeacherStateTest, AnOffloadedTeacherIsLetGoOfBetweenItsBlocksAndTheStudents) {
  int released = 0;
  TeacherState teaching(
      teacher(), [&] { ++released; }, shapes_, split_, recipe_.training);
  const TeacherOutputs outputs = teaching.outputs();
  outputs.batches->make_room();
  int released_at_output = 0;
  const auto model = make_gat(recipe_, source_);
  const Classification student(*model);
  BlockEngine engine(source_, shapes_, student, {4, 4096, 16384}, {}, outputs.batches);
  engine.predict(split_.validation, [&](std::span<const float>) {
    released_at_output = std::max(released_at_output, released);
  });
  const int passes = released;
  EXPECT_EQ(released_at_output, passes);
  EXPECT_EQ(passes, (static_cast<int>(split_.validation.size()) + 31) / 32);
  engine.gradient(std::span(split_.training).first(32), {.training = true});
  EXPECT_EQ(released, passes + 1);
}

// The plan counts the larger of the two models, not the sum: their ranges in both modes, and their weights if
// the teacher is offloaded.
TEST_P(TeacherStateTest, ThePlanHasTheTeacherInIt) {
  const MemoryPlan alone = plan("cached");
  const MemoryPlan live = plan("live");
  const MemoryPlan offload = plan("offload");
  for (const MemoryPlan* const memory_plan : {&alone, &live, &offload})
    EXPECT_TRUE(memory_plan->exact) << memory_plan->why_inexact;
  int64_t weights = 0;
  for (const ParameterList::Entry& entry : teacher().parameters().all())
    weights += tensor_heap_bytes(static_cast<int64_t>(entry.value.nbytes()));
  EXPECT_EQ(part(live, "teacher"), weights);
  EXPECT_EQ(part(live, "parameters"), part(alone, "parameters"));
  EXPECT_EQ(part(offload, "parameters"), part(alone, "parameters"));
  EXPECT_LT(part(offload, "teacher"), weights / 2);
  EXPECT_LT(offload.min_budget, live.min_budget - weights / 3);
  EXPECT_GE(offload.execution.min_bytes, alone.execution.min_bytes);
  EXPECT_LE(offload.execution.min_bytes, live.execution.min_bytes);
  EXPECT_LT(live.execution.min_bytes, alone.execution.min_bytes + offload.execution.min_bytes);
}

TEST_P(TeacherStateTest, WithoutRunningAnythingThePlanIsNeverTooSmall) {
  const int64_t measured[] = {plan("live").min_budget, plan("offload").min_budget};
  std::optional<MetaParameters> scope(std::in_place);
  Detector models[] = {teacher(), teacher()};
  scope.reset();
  TeacherState live(std::move(models[0]));
  TeacherState offload(
      std::move(models[1]), [] {}, shapes_, split_, recipe_.training);
  const MemoryPlan planned[] = {plan(live.outputs(), true), plan(offload.outputs(), true)};
  for (const int i : {0, 1}) {
    EXPECT_FALSE(planned[i].exact);
    EXPECT_GE(planned[i].min_budget, measured[i]) << i;
    EXPECT_LE(planned[i].min_budget, measured[i] + (2 << 20)) << i;
  }
}

// A plan that is made before the teacher is trained uses zeros.
TEST_P(TeacherStateTest, ATeacherOfZerosIsPlannedLikeOneThatIsMapped) {
  const MemoryPlan mapped = plan("offload");
  std::optional<GivenValues> zeros(
      [](const std::string&, const std::vector<int64_t>& shape) { return mapped_zeros(shape); });
  Detector model = teacher();
  zeros.reset();
  TeacherState teaching(
      std::move(model), [] {}, shapes_, split_, recipe_.training);
  const MemoryPlan planned = plan(teaching.outputs());
  EXPECT_EQ(planned.execution.min_bytes, mapped.execution.min_bytes);
  EXPECT_EQ(part(planned, "teacher"), part(mapped, "teacher"));
  EXPECT_TRUE(planned.exact) << planned.why_inexact;
}

INSTANTIATE_TEST_SUITE_P(Models, TeacherStateTest, testing::Values("gat", "vgae"),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
}  // namespace plimsoll

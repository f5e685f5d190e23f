#include "train/distill.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "nn/classification.h"
#include "nn/encodings.h"
#include "nn/reconstruction_errors.h"
#include "train/column_stage.h"
#include "train/detection_labels.h"
#include "train/stage_memory.h"
#include "train/vgae_stage.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

// The teacher's models where a stage looks for what to train.
Recipe with_teachers(Recipe recipe) {
  recipe.gat = recipe.teacher.gat;
  recipe.vgae = recipe.teacher.vgae;
  return recipe;
}

// What trains and validates, in the order of the data set.
GraphList graphs_of(const TrainingSplit& split) {
  GraphList graphs = split.training;
  graphs.insert(graphs.end(), split.validation.begin(), split.validation.end());
  std::ranges::sort(graphs);
  return graphs;
}

// KD-GAT's difficulty of each graph of a source, from the errors of some; of others 0.
Vector<float, Tag::columns> difficulty_of(std::span<const float> errors, std::span<const int64_t> graphs,
                                          size_t count) {
  constexpr size_t kErrors = 3;  // of ReconstructionErrors
  constexpr float kIdWeight = 0.1F;
  Vector<float, Tag::columns> difficulty(count);
  for (size_t i = 0; i < graphs.size(); ++i)
    difficulty[static_cast<size_t>(graphs[i])] = errors[kErrors * i] + kIdWeight * errors[kErrors * i + 1];
  return difficulty;
}

// The inputs of each stage, made from what earlier ones left.
class Pipeline {
 public:
  explicit Pipeline(const DistillOptions& options)
      : in_(options),
        teachers_(with_teachers(*options.recipe)),
        benign_(benign_split(*options.split, options.shapes)),
        all_graphs_(graphs_of(*options.split)),
        benign_graphs_(graphs_of(benign_)) {
    // Now, not when the first teacher has trained for hours.
    require_both_kinds(*options.split, options.shapes);
  }

  bool has_curriculum() const { return in_.recipe->curriculum.schedule != "none"; }

  VgaeStageOptions autoencoder() const { return vgae_stage(teachers_, "autoencoder", nullptr, 0); }

  ColumnOptions scores(const Objective& errors) const {
    return column("scores", "difficulty", errors, benign_.training);
  }

  GatStageOptions teacher(const Curriculum* curriculum) const {
    return gat_stage(teachers_, "teacher", curriculum, nullptr);
  }
  Curriculum curriculum(std::span<const float> difficulty) const {
    return Curriculum(in_.recipe->curriculum.schedule, in_.split->training, in_.shapes, difficulty,
                      in_.recipe->training.max_epochs);
  }

  ColumnOptions logits(const Objective& classification) const {
    return column("outputs", "teacher_logits", classification, all_graphs_);
  }
  ColumnOptions encodings(const Objective& encodings) const {
    return column("outputs", "teacher_encodings", encodings, benign_graphs_);
  }
  TeacherSource with_logits(std::span<const float> values) const {
    return {*in_.source, {.values = values, .width = 2}, all_graphs_, in_.shapes};
  }
  TeacherSource with_encodings(std::span<const float> values) const {
    const int64_t width = teachers_.vgae.latent + in_.source->node_features() - 1;
    return {*in_.source, {.values = values, .width = width, .of_nodes = true}, benign_graphs_, in_.shapes};
  }

  VgaeStageOptions student_vgae(const TeacherSource& teacher) const {
    return vgae_stage(*in_.recipe, "student_vgae", &teacher, teachers_.vgae.latent);
  }
  GatStageOptions student_gat(const TeacherSource& teacher) const {
    return gat_stage(*in_.recipe, "student_gat", nullptr, &teacher);
  }
  GatStageOptions student_gat_alone() const {
    return gat_stage(*in_.recipe, "student_gat_alone", nullptr, nullptr);
  }

 private:
  VgaeStageOptions vgae_stage(const Recipe& recipe, const char* stage, const TeacherSource* teacher,
                              int64_t teacher_latent) const {
    return {.source = in_.source,
            .shapes = in_.shapes,
            .recipe = &recipe,
            .split = &benign_,
            .teacher = teacher,
            .teacher_latent = teacher_latent,
            .facts = in_.facts,
            .run = in_.run_of(stage)};
  }
  GatStageOptions gat_stage(const Recipe& recipe, const char* stage, const Curriculum* curriculum,
                            const TeacherSource* teacher) const {
    return {.source = in_.source,
            .shapes = in_.shapes,
            .recipe = &recipe,
            .split = in_.split,
            .curriculum = curriculum,
            .teacher = teacher,
            .facts = in_.facts,
            .run = in_.run_of(stage)};
  }
  ColumnOptions column(const char* stage, const char* name, const Objective& objective,
                       const GraphList& graphs) const {
    return {.source = in_.source,
            .shapes = in_.shapes,
            .objective = &objective,
            .recipe = in_.recipe,
            .graphs = graphs,
            .name = name,
            .data = in_.data,
            .run = in_.run_of(stage)};
  }

  const DistillOptions& in_;
  const Recipe teachers_;
  const TrainingSplit benign_;
  const GraphList all_graphs_;
  const GraphList benign_graphs_;
};

// What a stage may hold beside what earlier ones left.
template <typename Options>
Options beside(const StageMemory& memory, Options options) {
  options.run.outside_ledger += memory.left();
  options.run.outside_varies = StageMemory::kLeftVaries;
  if (options.run.cap) *options.run.cap -= memory.left();
  return options;
}

// Runs a stage, and tells what it took.
class Reporter {
 public:
  Reporter(const DistillOptions& options, const std::function<void(const StageReport&)>& done)
      : options_(options), done_(done) {}

  template <typename Options, typename Train>
  Detector train(const char* stage, const Options& options, const Train& train) const {
    const auto start = Clock::now();
    StageMemory memory(options.run.outside_ledger);
    StageResult result = train(beside(memory, options));
    StageReport report;
    report.stage = stage;
    report.weights = result.weights_hash;
    report.parameters = result.detector.parameters().count();
    report.graphs = static_cast<int64_t>(options.split->training.size() + options.split->validation.size());
    report.fit = std::move(result.fit);
    tell(report, start, memory);
    return std::move(result.detector);
  }

  NpyView column(const ColumnOptions& options) const {
    const auto start = Clock::now();
    StageMemory memory(options.run.outside_ledger);
    ColumnResult result = write_column(beside(memory, options), options_.folder / "columns");
    StageReport report;
    report.stage = options.name;
    report.graphs = static_cast<int64_t>(options.graphs.size());
    report.fit.plan = result.plan;
    if (result.computed) tell(report, start, memory);
    return std::move(result.column);
  }

 private:
  void tell(StageReport& report, Clock::time_point start, StageMemory& memory) const {
    report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    report.measured_peak = memory.peak_anonymous();
    done_(report);
  }

  const DistillOptions& options_;
  const std::function<void(const StageReport&)>& done_;
};

}  // namespace

void distill(const DistillOptions& options, const std::function<void(const StageReport&)>& done) {
  const Pipeline pipeline(options);
  const Reporter run(options, done);
  NpyView encodings;
  NpyView logits;
  std::optional<Curriculum> curriculum;
  {
    const Detector autoencoder = run.train("autoencoder", pipeline.autoencoder(), train_vgae);
    if (pipeline.has_curriculum()) {
      const ReconstructionErrors errors(*autoencoder.vgae);
      const ColumnOptions scores = pipeline.scores(errors);
      const NpyView column = run.column(scores);
      curriculum.emplace(
          pipeline.curriculum(difficulty_of(column.values<float>(), scores.graphs, options.shapes.size())));
    }
    encodings = run.column(pipeline.encodings(Encodings(*autoencoder.vgae)));
  }
  {
    const Detector teacher =
        run.train("teacher", pipeline.teacher(curriculum ? &*curriculum : nullptr), train_gat);
    logits = run.column(pipeline.logits(Classification(*teacher.gat)));
  }
  // From here on there is no teacher in memory.
  run.train("student_vgae", pipeline.student_vgae(pipeline.with_encodings(encodings.values<float>())),
            train_vgae);
  run.train("student_gat", pipeline.student_gat(pipeline.with_logits(logits.values<float>())), train_gat);
  run.train("student_gat_alone", pipeline.student_gat_alone(), train_gat);
}

std::vector<std::pair<std::string, MemoryPlan>> plan_distill(const DistillOptions& options) {
  const Pipeline pipeline(options);
  std::vector<std::pair<std::string, MemoryPlan>> plans;
  const auto add = [&](const std::string& stage, const auto& plan_of, const auto& of) {
    const StageMemory memory(of.run.outside_ledger);
    plans.emplace_back(stage, plan_of(beside(memory, of)));
  };
  const auto add_column = [&](const ColumnOptions& column) { add(column.name, plan_column, column); };
  const Recipe teachers = with_teachers(*options.recipe);
  const auto as_planned = [&](const auto& make_model) {
    std::optional<WithoutData> without_data;
    if (options.run_of("").without_data) without_data.emplace();
    return make_model();
  };
  std::optional<Curriculum> curriculum;
  if (pipeline.has_curriculum()) curriculum.emplace(pipeline.curriculum({}));
  {
    add("autoencoder", plan_vgae, pipeline.autoencoder());
    const auto autoencoder = as_planned([&] { return make_vgae(teachers, *options.source); });
    const ReconstructionErrors errors(*autoencoder);
    if (pipeline.has_curriculum()) add_column(pipeline.scores(errors));
    const Encodings encodings(*autoencoder);
    add_column(pipeline.encodings(encodings));
  }
  add("teacher", plan_gat, pipeline.teacher(curriculum ? &*curriculum : nullptr));
  {
    const auto teacher = as_planned([&] { return make_gat(teachers, *options.source); });
    const Classification logits(*teacher);
    add_column(pipeline.logits(logits));
  }
  const TeacherSource encodings = pipeline.with_encodings({});
  add("student_vgae", plan_vgae, pipeline.student_vgae(encodings));
  const TeacherSource logits = pipeline.with_logits({});
  add("student_gat", plan_gat, pipeline.student_gat(logits));
  add("student_gat_alone", plan_gat, pipeline.student_gat_alone());
  return plans;
}

}  // namespace plimsoll

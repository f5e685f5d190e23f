#include "train/distill.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "nn/classification.h"
#include "nn/encodings.h"
#include "nn/reconstruction_errors.h"
#include "train/column_stage.h"
#include "train/detection_labels.h"
#include "train/mapped_zeros.h"
#include "train/stage_memory.h"
#include "train/teaching.h"
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

// Where teachers that are asked come from: the files of their stages, or nowhere yet, for planning.
enum class Models { trained, planned, planned_without_data };

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
  // Whether teachers' outputs are columns; else teachers are there while students train.
  bool is_cached() const { return in_.recipe->distillation.teacher_outputs == "cached"; }

  VgaeStageOptions autoencoder() const { return vgae_stage(teachers_, "autoencoder", {}, 0); }

  ColumnOptions scores(const Objective& errors) const {
    return column("scores", "difficulty", errors, benign_.training);
  }

  GatStageOptions teacher(const Curriculum* curriculum) const {
    return gat_stage(teachers_, "teacher", curriculum, {});
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

  // `column` is empty for planning, and where the teacher itself is asked.
  Teaching of_gat(std::span<const float> column, Models models) const {
    if (is_cached())
      return Teaching(TeacherSource(*in_.source, {.values = column, .width = 2}, all_graphs_, in_.shapes));
    return teaching("teacher", *in_.split, models);
  }
  Teaching of_vgae(std::span<const float> column, Models models) const {
    const int64_t width = teachers_.vgae.latent + in_.source->node_features() - 1;
    if (is_cached())
      return Teaching(TeacherSource(*in_.source, {.values = column, .width = width, .of_nodes = true},
                                    benign_graphs_, in_.shapes));
    return teaching("autoencoder", benign_, models);
  }

  VgaeStageOptions student_vgae(Teaching& teaching) const {
    return vgae_stage(*in_.recipe, "student_vgae", teaching.of(), teachers_.vgae.latent);
  }
  GatStageOptions student_gat(Teaching& teaching) const {
    return gat_stage(*in_.recipe, "student_gat", nullptr, teaching.of());
  }
  GatStageOptions student_gat_alone() const {
    return gat_stage(*in_.recipe, "student_gat_alone", nullptr, {});
  }

  // A teacher as it begins: of a stage's name.
  Detector untrained(const std::string& stage) const {
    Detector detector;
    if (stage == "teacher")
      detector.gat = make_gat(teachers_, *in_.source);
    else
      detector.vgae = make_vgae(teachers_, *in_.source);
    return detector;
  }

 private:
  // A teacher that is asked while its student trains: live, or offloaded.
  Teaching teaching(const std::string& stage, const TrainingSplit& split, Models models) const {
    const bool live = in_.recipe->distillation.teacher_outputs == "live";
    const auto offloaded = [&](Detector teacher, std::function<void()> release) {
      return Teaching(std::move(teacher), std::move(release), in_.shapes, split, in_.recipe->training);
    };
    if (models == Models::trained) {
      const std::filesystem::path file = in_.folder / stage / "model.safetensors";
      if (!live) {
        MappedDetector mapped = map_detector(file);
        return offloaded(std::move(mapped.detector), [view = mapped.file] { view->release(); });
      }
      Detector detector = load_detector(file);
      detector.facts = {};
      return Teaching(std::move(detector));
    }
    std::optional<WithoutData> without_data;
    std::optional<GivenValues> zeros;
    if (models == Models::planned_without_data)
      without_data.emplace();
    else if (!live)
      zeros.emplace(
          [](const std::string&, const std::vector<int64_t>& shape) { return mapped_zeros(shape); });
    Detector detector = untrained(stage);
    return live ? Teaching(std::move(detector)) : offloaded(std::move(detector), [] {});
  }

  VgaeStageOptions vgae_stage(const Recipe& recipe, const char* stage, const StageTeacher& teacher,
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
                            const StageTeacher& teacher) const {
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
    if (pipeline.is_cached()) encodings = run.column(pipeline.encodings(Encodings(*autoencoder.vgae)));
  }
  {
    const Detector teacher =
        run.train("teacher", pipeline.teacher(curriculum ? &*curriculum : nullptr), train_gat);
    if (pipeline.is_cached()) logits = run.column(pipeline.logits(Classification(*teacher.gat)));
  }
  // From here on there is no teacher in memory but one that its student asks.
  const auto values = [&](const NpyView& column) {
    return pipeline.is_cached() ? column.values<float>() : std::span<const float>();
  };
  {
    Teaching teaching = pipeline.of_vgae(values(encodings), Models::trained);
    run.train("student_vgae", pipeline.student_vgae(teaching), train_vgae);
  }
  {
    Teaching teaching = pipeline.of_gat(values(logits), Models::trained);
    run.train("student_gat", pipeline.student_gat(teaching), train_gat);
  }
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
  const bool is_static = options.run_of("").without_data;
  const auto untrained = [&](const char* stage) {
    std::optional<WithoutData> without_data;
    if (is_static) without_data.emplace();
    return pipeline.untrained(stage);
  };
  const Models models = is_static ? Models::planned_without_data : Models::planned;
  std::optional<Curriculum> curriculum;
  if (pipeline.has_curriculum()) curriculum.emplace(pipeline.curriculum({}));
  {
    add("autoencoder", plan_vgae, pipeline.autoencoder());
    const Detector autoencoder = untrained("autoencoder");
    const ReconstructionErrors errors(*autoencoder.vgae);
    if (pipeline.has_curriculum()) add_column(pipeline.scores(errors));
    const Encodings encodings(*autoencoder.vgae);
    if (pipeline.is_cached()) add_column(pipeline.encodings(encodings));
  }
  add("teacher", plan_gat, pipeline.teacher(curriculum ? &*curriculum : nullptr));
  if (pipeline.is_cached()) {
    const Detector teacher = untrained("teacher");
    const Classification logits(*teacher.gat);
    add_column(pipeline.logits(logits));
  }
  {
    Teaching teaching = pipeline.of_vgae({}, models);
    add("student_vgae", plan_vgae, pipeline.student_vgae(teaching));
  }
  {
    Teaching teaching = pipeline.of_gat({}, models);
    add("student_gat", plan_gat, pipeline.student_gat(teaching));
  }
  add("student_gat_alone", plan_gat, pipeline.student_gat_alone());
  return plans;
}

}  // namespace plimsoll

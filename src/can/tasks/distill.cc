#include "can/tasks/distill.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.h"
#include "can/recipe/can_sections.h"
#include "can/tasks/detection_labels.h"
#include "can/tasks/gat_stage.h"
#include "can/tasks/mapped_zeros.h"
#include "can/tasks/teacher_state.h"
#include "can/tasks/vgae_stage.h"
#include "engine/blocks/shared_file.h"
#include "engine/predict/column_stage.h"
#include "memory/c_heap.h"
#include "nn/classification.h"
#include "nn/encodings.h"
#include "nn/reconstruction_errors.h"

namespace plimsoll {
namespace {

// Returns the recipe with the teacher's models in the sections gat and vgae, from which a stage takes the
// model to train.
Recipe with_teachers(Recipe recipe) {
  CanSections& can = can_sections(recipe);
  can.gat = can.teacher.gat;
  can.vgae = can.teacher.vgae;
  return recipe;
}

// The training and validation graphs, in the order of the data set.
GraphList graphs_of(const TrainingSplit& split) {
  GraphList graphs = split.training;
  graphs.insert(graphs.end(), split.validation.begin(), split.validation.end());
  std::ranges::sort(graphs);
  return graphs;
}

// KD-GAT's difficulty of each graph of a source, from the errors of some graphs; 0 for the others.
Vector<float, Tag::columns> difficulty_of(std::span<const float> errors, std::span<const int64_t> graphs,
                                          size_t count) {
  constexpr size_t kErrors = 3;  // Number of columns of ReconstructionErrors.
  constexpr float kIdWeight = 0.1F;
  Vector<float, Tag::columns> difficulty(count);
  for (size_t i = 0; i < graphs.size(); ++i)
    difficulty[static_cast<size_t>(graphs[i])] = errors[kErrors * i] + kIdWeight * errors[kErrors * i + 1];
  return difficulty;
}

// Source of the models of earlier stages: their files, read or mapped. For planning, models are made without
// files, which do not exist yet.
enum class Models { trained, mapped, planned, planned_without_data };

Models models_of(const RunOptions& run, bool planning) {
  if (!planning) return Models::trained;
  return run.without_data ? Models::planned_without_data : Models::planned;
}

// Makes the inputs of each stage from the outputs of earlier ones.
class Pipeline {
 public:
  explicit Pipeline(DistillOptions options)
      : in_(std::move(options)),
        teachers_(with_teachers(in_.recipe)),
        benign_(benign_split(*in_.split, in_.shapes)),
        all_graphs_(graphs_of(*in_.split)),
        benign_graphs_(graphs_of(benign_)) {
    // Check before training, rather than after the first teacher has been trained for hours.
    require_both_kinds(*in_.split, in_.shapes);
    if (!in_.teacher.empty()) take_teacher();
  }

  bool has_curriculum() const { return can_sections(in_.recipe).curriculum.schedule != CurriculumKind::none; }
  // Whether teachers' outputs are columns; otherwise the teachers are in memory while students are trained.
  bool is_cached() const {
    return can_sections(in_.recipe).distillation.teacher_outputs == TeacherOutputMode::cached;
  }
  bool trains(const std::string& teacher) const {
    return teacher == kGatTeacher ? !given_gat_ : !given_vgae_;
  }

  // Each model has a function `train...` and a function `plan...`.

  StageReport train_autoencoder(const RunOptions& run) const {
    return trained(vgae_stage(teachers_, {}, run));
  }
  MemoryPlan plan_autoencoder(const RunOptions& run) const {
    return plan_vgae(vgae_stage(teachers_, {}, run));
  }

  StageReport train_teacher(const RunOptions& run) const {
    std::optional<Curriculum> curriculum;
    if (has_curriculum()) {
      curriculum.emplace(curriculum_of(difficulty(run)));
      give_back_freed_memory();  // Memory of the model that was read to identify the column.
    }
    return trained(gat_stage(teachers_, curriculum ? &*curriculum : nullptr, {}, run));
  }
  MemoryPlan plan_teacher(const RunOptions& run) const {
    std::optional<Curriculum> curriculum;
    if (has_curriculum()) curriculum.emplace(curriculum_of({}));
    return plan_gat(gat_stage(teachers_, curriculum ? &*curriculum : nullptr, {}, run));
  }

  // Calls use(stage options) for a student with its teacher.
  template <typename Use>
  auto with_student_vgae(const RunOptions& run, bool planning, const Use& use) const {
    const NpyView column = planning || !is_cached() ? NpyView() : encodings(run);
    give_back_freed_memory();
    TeacherState teaching = of_vgae(values_of(column), models_of(run, planning), run);
    return use(vgae_stage(in_.recipe, teaching.outputs(), run));
  }
  template <typename Use>
  auto with_student_gat(const RunOptions& run, bool planning, const Use& use) const {
    const NpyView column = planning || !is_cached() ? NpyView() : logits(run);
    give_back_freed_memory();
    TeacherState teaching = of_gat(values_of(column), models_of(run, planning), run);
    return use(gat_stage(in_.recipe, nullptr, teaching.outputs(), run));
  }
  GatStageOptions student_gat_alone(const RunOptions& run) const {
    return gat_stage(in_.recipe, nullptr, {}, run);
  }

  // Calls use(column options) for the outputs of a teacher.
  template <typename Use>
  auto with_difficulty(const RunOptions& run, Models models, const Use& use) const {
    const Model autoencoder = model("autoencoder", models, run);
    const ReconstructionErrors errors(*autoencoder.detector.vgae);
    return use(column("difficulty", errors, benign_.training, run));
  }
  template <typename Use>
  auto with_encodings(const RunOptions& run, Models models, const Use& use) const {
    const Model autoencoder = model("autoencoder", models, run);
    const Encodings encodings(*autoencoder.detector.vgae);
    return use(column("teacher_encodings", encodings, benign_graphs_, run));
  }
  template <typename Use>
  auto with_logits(const RunOptions& run, Models models, const Use& use) const {
    const Model teacher = model(kGatTeacher, models, run);
    const Classification logits(*teacher.detector.gat);
    return use(column("teacher_logits", logits, all_graphs_, run));
  }

  StageReport write(const ColumnOptions& options) const {
    StageReport report;
    ColumnResult result = write_column(options, columns());
    report.graphs = static_cast<int64_t>(options.graphs.size());
    report.fit.plan = result.plan;
    report.was_there = !result.computed;
    return report;
  }

  static StageReport trained(const GatStageOptions& options) {
    return report_of("", train_gat(options), *options.split);
  }
  static StageReport trained(const VgaeStageOptions& options) {
    return report_of("", train_vgae(options), *options.split);
  }

 private:
  std::filesystem::path columns() const { return in_.folder / "columns"; }
  std::filesystem::path file_of(const std::string& stage) const {
    return trains(stage) ? in_.folder / stage / "model.safetensors" : in_.teacher;
  }

  // Loads the given teacher, which replaces one that would be trained.
  void take_teacher() {
    const Detector teacher = load_detector(in_.teacher);
    const auto require = [&](const char* property, bool same) {
      if (!same)
        throw InputError(fmt::format("{}: the teacher was trained on {} that differ from those of this data",
                                     in_.teacher.string(), property));
    };
    require("IDs", teacher.facts.vocabulary == in_.facts.vocabulary);
    const auto require_features = [&](const auto& options) {
      require("node features", options.in_features == in_.source->node_features());
      require("edge features",
              options.edge_features == 0 || options.edge_features == in_.source->edge_features());
    };
    if (teacher.gat) {
      given_gat_ = teacher.gat->options();
      require_features(*given_gat_);
    } else {
      given_vgae_ = teacher.vgae->options();
      require_features(*given_vgae_);
    }
  }

  using Model = MappedDetector;  // Its file is null if the model is not mapped.

  // A teacher as its stage saved it, or untrained. `stage` is the name of the teacher's stage.
  Model model(const std::string& stage, Models models, const RunOptions& run) const {
    if (models == Models::trained || models == Models::mapped) {
      if (!is_there_for_ranks(run.exchange, file_of(stage)))
        throw InputError(
            fmt::format("{} does not exist: the stage {} makes it", file_of(stage).string(), stage));
      if (models == Models::mapped) return map_detector(file_of(stage));
      Detector detector = load_detector(file_of(stage));
      detector.facts = {};
      return {nullptr, std::move(detector)};
    }
    std::optional<MetaParameters> without_data;
    if (models == Models::planned_without_data) without_data.emplace();
    return {nullptr, untrained(stage)};
  }
  Detector untrained(const std::string& stage) const {
    const auto seed = static_cast<uint64_t>(in_.recipe.seed);
    Detector detector;
    if (stage == kGatTeacher)
      detector.gat =
          given_gat_ ? std::make_unique<GATWithJK>(*given_gat_, seed) : make_gat(teachers_, *in_.source);
    else
      detector.vgae = given_vgae_ ? std::make_unique<GraphAutoencoderNeighborhood>(*given_vgae_, seed)
                                  : make_vgae(teachers_, *in_.source);
    return detector;
  }

  Curriculum curriculum_of(std::span<const float> difficulty) const {
    return Curriculum(can_sections(in_.recipe).curriculum.schedule, in_.split->training, in_.shapes,
                      difficulty, in_.recipe.training.max_epochs);
  }

  // Opens a column of an earlier stage; the key of the column includes the device of `run`.
  NpyView left(const ColumnOptions& options) const {
    if (auto column = open_column(options, columns())) return std::move(*column);
    throw InputError(fmt::format("{} does not exist: the stage {} computes it",
                                 (columns() / options.name).string(), options.name));
  }
  Vector<float, Tag::columns> difficulty(const RunOptions& run) const {
    return with_difficulty(run, Models::mapped, [&](const ColumnOptions& options) {
      return difficulty_of(left(options).values<float>(), options.graphs, in_.shapes.size());
    });
  }
  NpyView encodings(const RunOptions& run) const {
    return with_encodings(run, Models::mapped, [&](const ColumnOptions& options) { return left(options); });
  }
  NpyView logits(const RunOptions& run) const {
    return with_logits(run, Models::mapped, [&](const ColumnOptions& options) { return left(options); });
  }
  std::span<const float> values_of(const NpyView& column) const {
    return column.shape().shape.empty() ? std::span<const float>() : column.values<float>();
  }

  // The state of a GAT teacher. `column` is empty for planning, and if the teacher itself is evaluated.
  TeacherState of_gat(std::span<const float> column, Models models, const RunOptions& run) const {
    if (is_cached())
      return TeacherState(
          CachedTeacher(*in_.source, {.values = column, .width = 2}, all_graphs_, in_.shapes));
    return teaching(kGatTeacher, *in_.split, models, run);
  }
  TeacherState of_vgae(std::span<const float> column, Models models, const RunOptions& run) const {
    const int64_t width = teacher_latent() + in_.source->node_features() - 1;
    if (is_cached())
      return TeacherState(CachedTeacher(*in_.source, {.values = column, .width = width, .of_nodes = true},
                                        benign_graphs_, in_.shapes));
    return teaching("autoencoder", benign_, models, run);
  }
  int64_t teacher_latent() const {
    return given_vgae_ ? given_vgae_->latent : can_sections(teachers_).vgae.latent;
  }

  // The state of a teacher that is evaluated while its student is trained: live, or offloaded.
  TeacherState teaching(const std::string& stage, const TrainingSplit& split, Models models,
                        const RunOptions& run) const {
    if (can_sections(in_.recipe).distillation.teacher_outputs == TeacherOutputMode::live)
      return TeacherState(model(stage, models, run).detector);
    const auto offloaded = [&](Detector teacher, std::function<void()> release) {
      return TeacherState(std::move(teacher), std::move(release), in_.shapes, split, in_.recipe.training);
    };
    if (models == Models::trained) {
      Model mapped = model(stage, Models::mapped, run);
      return offloaded(std::move(mapped.detector), [view = mapped.file] { view->release(); });
    }
    std::optional<GivenValues> zeros;
    if (models == Models::planned)
      zeros.emplace(
          [](const std::string&, const std::vector<int64_t>& shape) { return mapped_zeros(shape); });
    return offloaded(model(stage, models, run).detector, [] {});
  }

  VgaeStageOptions vgae_stage(const Recipe& recipe, const TeacherOutputs& teacher,
                              const RunOptions& run) const {
    return {.source = in_.source,
            .shapes = in_.shapes,
            .recipe = &recipe,
            .split = &benign_,
            .teacher = teacher,
            .teacher_latent = teacher.any() ? teacher_latent() : 0,
            .facts = in_.facts,
            .run = run};
  }
  GatStageOptions gat_stage(const Recipe& recipe, const Curriculum* curriculum, const TeacherOutputs& teacher,
                            const RunOptions& run) const {
    return {.source = in_.source,
            .shapes = in_.shapes,
            .recipe = &recipe,
            .split = in_.split,
            .curriculum = curriculum,
            .teacher = teacher,
            .facts = in_.facts,
            .run = run};
  }
  ColumnOptions column(const char* name, const Objective& objective, const GraphList& graphs,
                       const RunOptions& run) const {
    return {.source = in_.source,
            .shapes = in_.shapes,
            .objective = &objective,
            .recipe = &in_.recipe,
            .graphs = graphs,
            .name = name,
            .data = in_.data,
            .run = run};
  }

  const DistillOptions in_;
  const Recipe teachers_;
  const TrainingSplit benign_;
  const GraphList all_graphs_;
  const GraphList benign_graphs_;
  std::optional<GatOptions> given_gat_;
  std::optional<VgaeOptions> given_vgae_;
};

}  // namespace

std::vector<Stage> distillation_stages(DistillOptions options) {
  const auto p = std::make_shared<const Pipeline>(std::move(options));
  std::vector<Stage> stages;
  // `with` makes the options of a column, and passes them to the function that plans or writes the column.
  const auto add_column = [&](const char* name, const char* folder, const auto& with) {
    stages.push_back(
        {name, folder, [with](const RunOptions& run) { return with(run, models_of(run, true), plan_column); },
         [p, with](const RunOptions& run) {
           return with(run, Models::trained, [&](const ColumnOptions& column) { return p->write(column); });
         }});
  };
  const auto add = [&](const char* name, const auto& plan, const auto& train) {
    stages.push_back({name, name, plan, train});
  };
  using Run = const RunOptions&;
  if (p->trains("autoencoder"))
    add(
        "autoencoder", [p](Run run) { return p->plan_autoencoder(run); },
        [p](Run run) { return p->train_autoencoder(run); });
  if (p->has_curriculum())
    add_column("difficulty", "scores",
               [p](Run run, Models models, const auto& use) { return p->with_difficulty(run, models, use); });
  if (p->is_cached())
    add_column("teacher_encodings", "outputs",
               [p](Run run, Models models, const auto& use) { return p->with_encodings(run, models, use); });
  if (p->trains(kGatTeacher))
    add(
        kGatTeacher, [p](Run run) { return p->plan_teacher(run); },
        [p](Run run) { return p->train_teacher(run); });
  if (p->is_cached())
    add_column("teacher_logits", "outputs",
               [p](Run run, Models models, const auto& use) { return p->with_logits(run, models, use); });
  const auto train = [](const auto& stage) { return Pipeline::trained(stage); };
  add(
      "student_vgae", [p](Run run) { return p->with_student_vgae(run, true, plan_vgae); },
      [p, train](Run run) { return p->with_student_vgae(run, false, train); });
  add(
      kStudentGat, [p](Run run) { return p->with_student_gat(run, true, plan_gat); },
      [p, train](Run run) { return p->with_student_gat(run, false, train); });
  add(
      "student_gat_alone", [p](Run run) { return plan_gat(p->student_gat_alone(run)); },
      [p, train](Run run) { return train(p->student_gat_alone(run)); });
  for (Stage& stage : stages)
    stage.run = [name = stage.name, run_stage = std::move(stage.run)](Run run) {
      StageReport report = run_stage(run);
      report.stage = name;
      return report;
    };
  return stages;
}

}  // namespace plimsoll

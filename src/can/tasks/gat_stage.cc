#include "can/tasks/gat_stage.h"

#include <optional>

#include "can/recipe/can_sections.h"
#include "can/tasks/detection_labels.h"
#include "can/tasks/stage_thresholds.h"
#include "can/tasks/unknown_ids.h"
#include "nn/classification.h"
#include "nn/gat_distillation.h"
#include "nn/live_teacher.h"

namespace plimsoll {
namespace {

GatOptions model_options(const Recipe& recipe, const BlockSource& source) {
  GatOptions gat = can_sections(recipe).gat;
  gat.num_ids = static_cast<int64_t>(source.tables().vocabulary.size()) + 1;
  gat.in_features = source.node_features();
  gat.edge_features = gat.use_edge_features ? source.edge_features() : 0;
  return gat;
}

struct GatStage : DetectorStage {
  explicit GatStage(const GatStageOptions& options) : DetectorStage(*options.recipe) {
    require_both_kinds(*options.split, options.shapes);
    const GatOptions& gat = can_sections(recipe).gat;
    const DistillationSection& distillation = can_sections(recipe).distillation;
    if (gat.learning_rate > 0) recipe.training.learning_rate = gat.learning_rate;
    std::optional<MetaParameters> without_data;
    if (options.run.without_data) without_data.emplace();
    detector.gat = make_gat(recipe, *options.source);
    detector.facts = options.facts;
    detector.facts.unknown_ids_apart = gat.id_dropout > 0;
    if (options.teacher.any())
      objectives.push_back(
          std::make_unique<GatDistillation>(*detector.gat, distillation.temperature, distillation.alpha));
    else
      objectives.push_back(std::make_unique<Classification>(*detector.gat));
    if (gat.id_dropout > 0)
      objectives.push_back(std::make_unique<IdDropout>(
          *objectives.back(), unknown_ids(options.source->tables(), recipe.data.without), gat.id_dropout));
    if (options.teacher.live != nullptr)
      objectives.push_back(std::make_unique<LiveTeacher>(*objectives.back(), *options.teacher.live));
    fit = {.source = options.teacher.column != nullptr ? options.teacher.column : options.source,
           .shapes = options.shapes,
           .objective = objectives.back().get(),
           .recipe = &recipe,
           .split = options.split,
           .curriculum = options.curriculum,
           .teacher = options.teacher,
           .afterwards = bytes_of_thresholds(options.shapes, recipe, *options.split),
           .repeats_parameters = gat.jk == JkMode::lstm,
           .run = options.run};
  }
};

}  // namespace

std::unique_ptr<GATWithJK> make_gat(const Recipe& recipe, const BlockSource& source) {
  return std::make_unique<GATWithJK>(model_options(recipe, source), static_cast<uint64_t>(recipe.seed));
}

MemoryPlan plan_gat(const GatStageOptions& options) {
  return plan_fit(GatStage(options).fit);
}

StageResult train_gat(const GatStageOptions& options) {
  return GatStage(options).train(*options.source);
}

}  // namespace plimsoll

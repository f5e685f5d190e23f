#include "can/tasks/vgae_stage.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "can/recipe/can_sections.h"
#include "can/tasks/detection_labels.h"
#include "nn/live_teacher.h"
#include "nn/vgae_distillation.h"

namespace plimsoll {
namespace {

void require_benign_alone(const TrainingSplit& split, std::span<const GraphShape> shapes) {
  const int64_t attacks = count_attacks(split.training, shapes) + count_attacks(split.validation, shapes);
  if (attacks > 0)
    throw InputError(
        fmt::format("{} training or validation windows of an autoencoder hold an attack, but it learns from "
                    "benign windows; leave them out",
                    attacks));
  if (split.training.empty())
    throw InputError("no benign window to train an autoencoder on; add attack-free recordings");
}

struct VgaeStage : DetectorStage {
  explicit VgaeStage(const VgaeStageOptions& options) : DetectorStage(*options.recipe) {
    require_benign_alone(*options.split, options.shapes);
    if (const double rate = can_sections(recipe).vgae.learning_rate; rate > 0)
      recipe.training.learning_rate = rate;
    std::optional<MetaParameters> without_data;
    if (options.run.without_data) without_data.emplace();
    detector.vgae = make_vgae(recipe, *options.source);
    detector.facts = options.facts;
    if (options.teacher.any())
      objectives.push_back(std::make_unique<VgaeDistillation>(*detector.vgae, options.teacher_latent,
                                                              can_sections(recipe).distillation.alpha));
    else
      objectives.push_back(std::make_unique<Reconstruction>(*detector.vgae));
    if (options.teacher.live != nullptr)
      objectives.push_back(std::make_unique<LiveTeacher>(*objectives.back(), *options.teacher.live));
    fit = {.source = options.teacher.column != nullptr ? options.teacher.column : options.source,
           .shapes = options.shapes,
           .objective = objectives.back().get(),
           .recipe = &recipe,
           .split = options.split,
           .teacher = options.teacher,
           .run = options.run};
  }
};

}  // namespace

std::unique_ptr<GraphAutoencoderNeighborhood> make_vgae(const Recipe& recipe, const BlockSource& source) {
  VgaeOptions vgae = can_sections(recipe).vgae;
  vgae.num_ids = static_cast<int64_t>(source.tables().vocabulary.size()) + 1;
  vgae.in_features = source.node_features();
  // compat features are in [0, 1], behaviour features in [-1, 1].
  vgae.output = can_sections(recipe).windows.features == WindowFeatures::compat ? VgaeOutput::sigmoid
                                                                                : VgaeOutput::tanh;
  vgae.edge_features = vgae.use_edge_features ? source.edge_features() : 0;
  return std::make_unique<GraphAutoencoderNeighborhood>(vgae, static_cast<uint64_t>(recipe.seed));
}

TrainingSplit benign_split(const TrainingSplit& split, std::span<const GraphShape> shapes) {
  return {.training = benign_of(split.training, shapes), .validation = benign_of(split.validation, shapes)};
}

MemoryPlan plan_vgae(const VgaeStageOptions& options) {
  return plan_fit(VgaeStage(options).fit);
}

StageResult train_vgae(const VgaeStageOptions& options) {
  VgaeStage stage(options);
  require_benign(options.split->validation, options.shapes);
  return stage.train(*options.source);
}

}  // namespace plimsoll

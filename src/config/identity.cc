#include "config/identity.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "config/earlier_runs.h"

namespace plimsoll {
namespace {

// The keys of the first version. Nothing is added to this list or removed from it: every run that was made
// since would have another identity.
constexpr auto kFrozenKeys = std::to_array<std::string_view>({"seed",
                                                              "task",
                                                              "model",
                                                              "init_from",
                                                              "data.features",
                                                              "data.window",
                                                              "data.stride",
                                                              "data.without",
                                                              "data.calibration",
                                                              "split.by",
                                                              "split.validation",
                                                              "split.test",
                                                              "split.embargo",
                                                              "split.leave_out",
                                                              "training.max_epochs",
                                                              "training.batch_size",
                                                              "training.learning_rate",
                                                              "training.optimizer",
                                                              "training.weight_decay",
                                                              "training.momentum",
                                                              "training.schedule",
                                                              "training.schedule_epochs",
                                                              "training.schedule_factor",
                                                              "training.warm_up_epochs",
                                                              "training.gradient_clip_val",
                                                              "training.patience",
                                                              "training.precision",
                                                              "training.gradient_checkpointing",
                                                              "training.lanes",
                                                              "training.checkpoint_every_s",
                                                              "training.block.preset",
                                                              "training.block.graphs",
                                                              "training.block.nodes",
                                                              "training.block.edges",
                                                              "training.block.seeds",
                                                              "sampling.fan_outs",
                                                              "sampling.replace",
                                                              "sampling.weighted",
                                                              "sampling.negatives",
                                                              "memory.estimation",
                                                              "run.trackers",
                                                              "run.profile.wait",
                                                              "run.profile.warmup",
                                                              "run.profile.active",
                                                              "run.profile.operators",
                                                              "gat.preset",
                                                              "gat.attention",
                                                              "gat.edge_features",
                                                              "gat.embedding",
                                                              "gat.layers",
                                                              "gat.hidden",
                                                              "gat.heads",
                                                              "gat.jk",
                                                              "gat.pooling",
                                                              "gat.dropout",
                                                              "gat.fc_layers",
                                                              "gat.id_dropout",
                                                              "gat.learning_rate",
                                                              "vgae.preset",
                                                              "vgae.edge_features",
                                                              "vgae.embedding",
                                                              "vgae.hidden",
                                                              "vgae.latent",
                                                              "vgae.heads",
                                                              "vgae.dropout",
                                                              "vgae.learning_rate",
                                                              "teacher.gat.preset",
                                                              "teacher.gat.attention",
                                                              "teacher.gat.edge_features",
                                                              "teacher.gat.embedding",
                                                              "teacher.gat.layers",
                                                              "teacher.gat.hidden",
                                                              "teacher.gat.heads",
                                                              "teacher.gat.jk",
                                                              "teacher.gat.pooling",
                                                              "teacher.gat.dropout",
                                                              "teacher.gat.fc_layers",
                                                              "teacher.gat.id_dropout",
                                                              "teacher.gat.learning_rate",
                                                              "teacher.vgae.preset",
                                                              "teacher.vgae.edge_features",
                                                              "teacher.vgae.embedding",
                                                              "teacher.vgae.hidden",
                                                              "teacher.vgae.latent",
                                                              "teacher.vgae.heads",
                                                              "teacher.vgae.dropout",
                                                              "teacher.vgae.learning_rate",
                                                              "curriculum.schedule",
                                                              "distillation.temperature",
                                                              "distillation.alpha",
                                                              "distillation.teacher_outputs",
                                                              "gnn.conv",
                                                              "gnn.edge_weight",
                                                              "gnn.embedding",
                                                              "gnn.layers",
                                                              "gnn.hidden",
                                                              "gnn.heads",
                                                              "gnn.norm",
                                                              "gnn.jk",
                                                              "gnn.pooling",
                                                              "gnn.dropout",
                                                              "paths.hidden",
                                                              "paths.layers",
                                                              "paths.mode",
                                                              "paths.cutoff",
                                                              "paths.tile",
                                                              "paths.direction",
                                                              "paths.distances_only",
                                                              "paths.aggregate",
                                                              "paths.spanning_trees",
                                                              "paths.readout",
                                                              "paths.norm",
                                                              "pretraining.bins",
                                                              "pretraining.angle_bins",
                                                              "pretraining.range",
                                                              "pretraining.leaves",
                                                              "pretraining.order",
                                                              "pretraining.order_weight",
                                                              "pretraining.margin",
                                                              "pretraining.root",
                                                              "fine_tuning.max_epochs",
                                                              "fine_tuning.learning_rate"});

}  // namespace

RecipeValues identity_values(const RecipeValues& values, const RecipeValues& defaults) {
  RecipeValues kept;
  for (size_t i = 0; i < values.size(); ++i)
    if (std::ranges::find(kFrozenKeys, values[i].first) != kFrozenKeys.end() || values[i] != defaults[i])
      kept.push_back(values[i]);
  return kept;
}

std::string identity_yaml(const Recipe& recipe) {
  return yaml_of(identity_values(recipe_values(recipe), recipe_values(with_earlier_rules({}))));
}

}  // namespace plimsoll

#include "config/identity.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "config/earlier_runs.h"

namespace plimsoll {
namespace {

// The keys of the first version, except those of recipe_parts(). Never add or remove a key, because every
// existing run would get another identity.
constexpr auto kFrozenKeys = std::to_array<std::string_view>({"seed",
                                                              "task",
                                                              "model",
                                                              "init_from",
                                                              "data.without",
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

bool is_frozen(const std::string& key) {
  const auto has = [&](std::span<const std::string_view> keys) {
    return std::ranges::find(keys, key) != keys.end();
  };
  return has(kFrozenKeys) ||
         std::ranges::any_of(recipe_parts(), [&](const RecipePart& part) { return has(part.frozen_keys); });
}

}  // namespace

RecipeValues identity_values(const RecipeValues& values, const RecipeValues& defaults) {
  RecipeValues kept;
  for (size_t i = 0; i < values.size(); ++i)
    if (is_frozen(values[i].first) || values[i] != defaults[i]) kept.push_back(values[i]);
  return kept;
}

std::string identity_yaml(const Recipe& recipe) {
  return yaml_of(identity_values(recipe_values(recipe), recipe_values(with_earlier_rules({}))));
}

}  // namespace plimsoll

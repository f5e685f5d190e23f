#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "config/recipe.h"

namespace plimsoll {

/// The only list of the keys of a recipe: visit_recipe() calls visit(key, value, check) for every key, in the
/// order in which they are printed. Reading, overriding, printing and checking all go through it. `check` is
/// a Range for numbers (of frames, for the lengths of windows), a Choice for words, and Names for lists of
/// them.
struct Range {
  double min;
  double max;
};
struct Choice {
  std::string_view words;  ///< Allowed words: "time|recording".
};
/// "true" or "false".
struct Flag {};
/// A list of whole numbers.
struct EachInRange {
  double min;
  double max;
};
/// The name of a preset, which sets the later keys of its section.
template <typename Model>
struct Preset {
  Model& model;
  std::string_view words;
};
struct Names {};  ///< Names that occur in the data.
struct Text {};   ///< Any text.
/// "auto", or a number in range.
struct AutoOr {
  double min;
  double max;
  bool whole = false;
};
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

template <typename Gat, typename Visit>
void visit_gat(const std::string& section, Gat& gat, Visit&& visit) {
  const auto key = [&](const char* name) { return section + "." + name; };
  visit(key("preset"), gat.preset, Preset<Gat>{gat, "small|large|old_teacher"});
  visit(key("attention"), gat.attention, Choice{"gat|gatv2"});
  visit(key("edge_features"), gat.edge_features, Flag{});
  visit(key("embedding"), gat.embedding, Range{1, 65536});
  visit(key("layers"), gat.layers, Range{1, 64});
  visit(key("hidden"), gat.hidden, Range{1, 65536});
  visit(key("heads"), gat.heads, Range{1, 1024});
  visit(key("jk"), gat.jk, Choice{"cat|max|lstm"});
  visit(key("pooling"), gat.pooling, Choice{"mean|sum|max"});
  visit(key("dropout"), gat.dropout, Range{0, 0.99});
  visit(key("fc_layers"), gat.fc_layers, Range{1, 64});
  visit(key("id_dropout"), gat.id_dropout, Range{0, 1});
  visit(key("learning_rate"), gat.learning_rate, Range{0, 1e3});
}

template <typename Vgae, typename Visit>
void visit_vgae(const std::string& section, Vgae& vgae, Visit&& visit) {
  const auto key = [&](const char* name) { return section + "." + name; };
  visit(key("preset"), vgae.preset, Preset<Vgae>{vgae, "small|large|old_teacher"});
  visit(key("edge_features"), vgae.edge_features, Flag{});
  visit(key("embedding"), vgae.embedding, Range{1, 65536});
  visit(key("hidden"), vgae.hidden, EachInRange{1, 65536});
  visit(key("latent"), vgae.latent, Range{1, 65536});
  visit(key("heads"), vgae.heads, Range{1, 1024});
  visit(key("dropout"), vgae.dropout, Range{0, 0.99});
  visit(key("learning_rate"), vgae.learning_rate, Range{0, 1e3});
}

inline constexpr Range kCount{1, 1e12};

template <typename Block, typename Visit>
void visit_block(const std::string& section, Block& block, Visit&& visit) {
  const auto key = [&](const char* name) { return section + "." + name; };
  visit(key("preset"), block.preset, Preset<Block>{block, "cpu|gpu"});
  visit(key("graphs"), block.graphs, kCount);
  visit(key("nodes"), block.nodes, kCount);
  visit(key("edges"), block.edges, kCount);
  visit(key("seeds"), block.seeds, kCount);
}

template <typename RecipeType, typename Visit>
void visit_data(RecipeType& r, Visit&& visit) {
  visit("data.features", r.data.features, Choice{"compat|behaviour"});
  visit("data.window", r.data.window, Range{2, 65535});
  visit("data.stride", r.data.stride, kCount);
  visit("data.without", r.data.without, Names{});
  visit("data.calibration", r.data.calibration, Range{0, 1e9});
  visit("split.by", r.split.by, Choice{"time|recording|graph"});
  visit("split.validation", r.split.validation, Range{0.01, 0.9});
  visit("split.test", r.split.test, Range{0, 0.9});
  visit("split.embargo", r.split.embargo, AutoOr{0, 1e6, /*whole=*/true});
  visit("split.leave_out", r.split.leave_out, Names{});
  visit("split.rule", r.split.rule, Range{1, 2});
}

template <typename RecipeType, typename Visit>
void visit_training(RecipeType& r, Visit&& visit) {
  visit("training.max_epochs", r.training.max_epochs, Range{1, 1e6});
  visit("training.batch_size", r.training.batch_size, kCount);
  visit("training.learning_rate", r.training.learning_rate, Range{0, 1e3});
  visit("training.optimizer", r.training.optimizer, Choice{"adam|adamw|sgd"});
  visit("training.weight_decay", r.training.weight_decay, Range{0, 1e3});
  visit("training.momentum", r.training.momentum, Range{0, 0.9999});
  visit("training.schedule", r.training.schedule, Choice{"constant|step|cosine|plateau"});
  visit("training.schedule_epochs", r.training.schedule_epochs, Range{1, 1e6});
  visit("training.schedule_factor", r.training.schedule_factor, Range{0, 1});
  visit("training.warm_up_epochs", r.training.warm_up_epochs, Range{0, 1e6});
  visit("training.gradient_clip_val", r.training.gradient_clip_val, Range{0, kUnbounded});
  visit("training.patience", r.training.patience, kCount);
  visit("training.precision", r.training.precision, Choice{"32|bf16-mixed|16-mixed"});
  visit("training.gradient_checkpointing", r.training.gradient_checkpointing, Choice{"auto|on|off"});
  visit("training.lanes", r.training.lanes, Choice{"auto|1|2|4|8|16|32|64"});
  visit("training.checkpoint_every_s", r.training.checkpoint_every_s, Range{0, 1e9});
  visit_block("training.block", r.training.block, visit);
}

template <typename RecipeType, typename Visit>
void visit_run(RecipeType& r, Visit&& visit) {
  visit("sampling.fan_outs", r.sampling.fan_outs, EachInRange{-1, 65536});
  visit("sampling.replace", r.sampling.replace, Flag{});
  visit("sampling.weighted", r.sampling.weighted, Flag{});
  visit("sampling.negatives", r.sampling.negatives, Range{1, 1024});
  visit("sampling.exclude_targets", r.sampling.exclude_targets, Flag{});
  visit("memory.estimation", r.memory.estimation, Choice{"static|measured|trial"});
  visit("run.trackers", r.run.trackers, Names{});
  visit("run.profile.wait", r.run.profile.wait, Range{0, 1e9});
  visit("run.profile.warmup", r.run.profile.warmup, Range{0, 1e9});
  visit("run.profile.active", r.run.profile.active, Range{0, 1e9});
  visit("run.profile.operators", r.run.profile.operators, Flag{});
}

template <typename RecipeType, typename Visit>
void visit_models(RecipeType& r, Visit&& visit) {
  visit_gat("gat", r.gat, visit);
  visit_vgae("vgae", r.vgae, visit);
  visit_gat("teacher.gat", r.teacher.gat, visit);
  visit_vgae("teacher.vgae", r.teacher.vgae, visit);
  visit("curriculum.schedule", r.curriculum.schedule, Choice{"none|kdgat|hard_4to1"});
  visit("distillation.temperature", r.distillation.temperature, Range{0.01, 1e3});
  visit("distillation.alpha", r.distillation.alpha, Range{0, 1});
  visit("distillation.teacher_outputs", r.distillation.teacher_outputs, Choice{"cached|live|offload"});
  visit("gnn.conv", r.gnn.conv, Choice{"gat|gatv2|gcn|gin|sage"});
  visit("gnn.edge_weight", r.gnn.edge_weight, Flag{});
  visit("gnn.embedding", r.gnn.embedding, Range{1, 65536});
  visit("gnn.layers", r.gnn.layers, Range{1, 64});
  visit("gnn.hidden", r.gnn.hidden, Range{1, 65536});
  visit("gnn.heads", r.gnn.heads, Range{1, 1024});
  visit("gnn.norm", r.gnn.norm, Choice{"none|batch|graph"});
  visit("gnn.jk", r.gnn.jk, Choice{"last|cat|max"});
  visit("gnn.pooling", r.gnn.pooling, Choice{"mean|sum|max"});
  visit("gnn.dropout", r.gnn.dropout, Range{0, 0.99});
}

template <typename RecipeType, typename Visit>
void visit_paths(RecipeType& r, Visit&& visit) {
  visit("paths.hidden", r.paths.hidden, Range{2, 4096});
  visit("paths.layers", r.paths.layers, Range{1, 64});
  visit("paths.mode", r.paths.mode, Choice{"corrected|reference"});
  visit("paths.cutoff", r.paths.cutoff, AutoOr{1e-30, 1e30});
  visit("paths.tile", r.paths.tile, Range{16, 65536});
  visit("paths.direction", r.paths.direction, Choice{"both|ancestor|descendant"});
  visit("paths.distances_only", r.paths.distances_only, Flag{});
  visit("paths.aggregate", r.paths.aggregate, Choice{"sum|mean"});
  visit("paths.spanning_trees", r.paths.spanning_trees, Range{0, 65535});
  visit("paths.readout", r.paths.readout, Choice{"sum|mean"});
  visit("paths.norm", r.paths.norm, Choice{"none|batch"});
  visit("pretraining.bins", r.pretraining.bins, Range{2, 1024});
  visit("pretraining.angle_bins", r.pretraining.angle_bins, Range{0, 1024});
  visit("pretraining.range", r.pretraining.range, AutoOr{1e-30, 1e30});
  visit("pretraining.leaves", r.pretraining.leaves, Flag{});
  visit("pretraining.order", r.pretraining.order, Choice{"vendrov|norm|squared"});
  visit("pretraining.order_weight", r.pretraining.order_weight, Range{0, 1e6});
  visit("pretraining.margin", r.pretraining.margin, Range{0, 1e6});
  visit("pretraining.root", r.pretraining.root, Range{-1, 2147483647});
  visit("fine_tuning.max_epochs", r.fine_tuning.max_epochs, Range{1, 1e6});
  visit("fine_tuning.learning_rate", r.fine_tuning.learning_rate, Range{0, 1e3});
}

template <typename RecipeType, typename Visit>
void visit_recipe(RecipeType& r, Visit&& visit) {
  visit("seed", r.seed, Range{0, 9e15});
  visit("task", r.task,
        Choice{"autoencoder|detection|distillation|graph_classification|graph_regression|link_prediction|"
               "node_classification|node_regression|tree_classification|tree_pretraining"});
  visit("model", r.model, Choice{"gnn|sgmp|gtmp"});
  visit("init_from", r.init_from, Text{});
  visit("init_target_scale", r.init_target_scale, Choice{"data|model"});
  visit_data(r, visit);
  visit_training(r, visit);
  visit_run(r, visit);
  visit_models(r, visit);
  visit_paths(r, visit);
}

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "config/window_length.h"
#include "config/yaml_of.h"

namespace plimsoll {

/// Value of keys that are derived from others or from the data.
inline constexpr const char* kAuto = "auto";

/// What to train, typed. docs/recipe.md documents the keys, defaults and meanings; src/config/schema.h lists
/// the keys once.
struct Recipe {
  int64_t seed = 42;

  std::string task = "detection";
  std::string model = "gnn";   ///< For tasks of graphs, nodes and values: `gnn`, or a model of `paths`.
  std::string init_from = {};  ///< A model file with the initial weights; empty for none.
  /// Source of the mean and scale of targets with init_from: `data` or `model`.
  std::string init_target_scale = "data";

  struct Data {
    std::string features = "compat";
    WindowLength window{100, WindowUnit::frames};
    WindowLength stride{100, WindowUnit::frames};
    std::vector<std::string> without = {};  // Features to leave out.
    int64_t calibration = 0;                // Windows of each recording; 0 for none.
  } data;

  struct Split {
    std::string by = "time";
    double validation = 0.2;
    double test = 0;
    std::string embargo = kAuto;              ///< `auto` or a number of graphs.
    std::vector<std::string> leave_out = {};  // Attacks.
    int64_t rule = 2;                         ///< 1 for runs that were made before rule 2 existed.
  } split;

  struct Training {
    int64_t max_epochs = 30;
    int64_t batch_size = 256;
    double learning_rate = 1e-3;
    std::string optimizer = "adam";
    double weight_decay = 1e-4;
    double momentum = 0;
    std::string schedule = "constant";  ///< Schedule of the learning rate (engine/fit/schedule.h).
    int64_t schedule_epochs = 10;
    double schedule_factor = 0.1;
    int64_t warm_up_epochs = 0;
    double gradient_clip_val = 1.0;
    int64_t patience = 10;
    std::string precision = "32";
    std::string gradient_checkpointing = "auto";
    std::string lanes = "auto";
    double checkpoint_every_s = 300;
    struct Block {
      std::string preset = "cpu";
      int64_t graphs = 64;
      int64_t nodes = 4096;
      int64_t edges = 16384;
      int64_t seeds = 128;  ///< For one giant graph.
    } block;
  } training;

  /// What is sampled for a seed of one giant graph.
  struct Sampling {
    std::vector<int64_t> fan_outs = {15, 10, 5};  ///< Neighbours per node, hop by hop; -1 for all.
    bool replace = false;
    bool weighted = false;
    int64_t negatives = 1;        ///< Pairs without an edge per pair with an edge.
    bool exclude_targets = true;  ///< Do not sample the edges that a block predicts, in either direction.
  } sampling;

  struct Memory {
    std::string estimation = "measured";
  } memory;

  /// How a run is monitored. It does not change the result, so it is not part of the run's identity.
  struct Run {
    std::vector<std::string> trackers = {};  ///< "tensorboard", "mlflow", "mlflow:URI".
    /// Steps of each stage, as in torch.profiler.schedule. None are traced if `active` is 0.
    struct Profile {
      int64_t wait = 1;
      int64_t warmup = 1;
      int64_t active = 0;
      bool operators = false;  ///< Also trace torch's operators, which costs time.
    } profile;
  } run;

  /// A GATWithJK. The defaults are the published small one.
  struct Gat {
    std::string preset = "small";
    std::string attention = "gat";
    bool edge_features = true;
    int64_t embedding = 8;
    int64_t layers = 2;
    int64_t hidden = 24;
    int64_t heads = 4;
    std::string jk = "cat";
    std::string pooling = "mean";
    double dropout = 0.1;
    int64_t fc_layers = 2;
    double id_dropout = 0;     ///< Share of training windows whose IDs become unknown.
    double learning_rate = 0;  ///< 0 for training.learning_rate.
  } gat;

  /// A GraphAutoencoderNeighborhood. The defaults are the published small one.
  struct Vgae {
    std::string preset = "small";
    bool edge_features = false;
    int64_t embedding = 4;
    std::vector<int64_t> hidden = {80, 40};
    int64_t latent = 16;
    int64_t heads = 1;
    double dropout = 0.1;
    double learning_rate = 0;  ///< 0 for training.learning_rate.
  } vgae;

  /// Teachers of gat and vgae in task distillation.
  struct Teacher {
    Gat gat;
    Vgae vgae;
    Teacher();
  } teacher;

  struct Curriculum {
    std::string schedule = "kdgat";
  } curriculum;

  struct Distillation {
    double temperature = 4;
    double alpha = 0.7;
    std::string teacher_outputs = "cached";
  } distillation;

  struct Gnn {
    std::string conv = "gin";
    bool edge_weight = false;
    int64_t embedding = 8;
    int64_t layers = 3;
    int64_t hidden = 64;
    int64_t heads = 1;
    std::string norm = "none";
    std::string jk = "last";
    std::string pooling = "mean";
    double dropout = 0;
  } gnn;

  /// SGMP or GTMP: messages along paths of three edges between nodes with coordinates.
  struct Paths {
    int64_t hidden = 64;
    int64_t layers = 3;
    std::string mode = "corrected";
    std::string cutoff = "auto";  ///< `auto` or a number.
    int64_t tile = 256;
    std::string direction = "both";
    bool distances_only = false;
    std::string aggregate = "sum";
    int64_t spanning_trees = 0;  ///< Number in evaluation (a step takes one); 0 for all paths.
    std::string readout = "sum";
    std::string norm = "none";
  } paths;

  /// GT-SSL: what a model of paths learns from unlabelled trees.
  struct Pretraining {
    int64_t bins = 50;       ///< Bins of the histogram of distances to a node's children.
    int64_t angle_bins = 0;  ///< Bins of the histogram of angles to them; 0 for no such histogram.
    /// Upper end of the histogram: `auto` for that of paths.cutoff, or a number.
    std::string range = "auto";
    bool leaves = true;  ///< Whether nodes without children count in the growth loss.
    std::string order = "vendrov";
    double order_weight = 1;
    double margin = 1;  ///< Margin of pairs of nodes neither of which descends from the other.
    /// Start of the forest of a graph that is no forest; -1 for the node with the most edges.
    int64_t root = -1;
  } pretraining;

  /// tree_classification: how classes are learned from pretrained weights, and from scratch.
  struct FineTuning {
    int64_t max_epochs = 100;
    double learning_rate = 3e-4;
  } fine_tuning;

  bool uses_paths() const { return model != "gnn"; }
  /// Returns the name of the model in tasks of graphs, nodes, pairs or values.
  const std::string& model_name() const { return uses_paths() ? model : gnn.conv; }
};

/// Sets the sizes of a published model: gat small | large | old_teacher, vgae small | large | old_teacher
/// (KD-GAT, graphids/config/models). Errors: UsageError for another name.
void apply_preset(Recipe::Gat& gat, const std::string& preset);
void apply_preset(Recipe::Vgae& vgae, const std::string& preset);
void apply_preset(Recipe::Training::Block& block, const std::string& preset);

/// Reads a YAML recipe and then overrides, each "section.key=value". Missing keys keep their `defaults`.
/// Errors: InputError (no such file), UsageError with file, line and column: not YAML, an unknown key (with
/// the nearest known one), a retired key (with its replacement), a value of the wrong type or out of range,
/// incompatible lengths of windows.
Recipe load_recipe(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                   Recipe defaults = {});
/// Reads a recipe from text. `name` is for the error texts.
Recipe parse_recipe(const std::string& text, const std::string& name,
                    const std::vector<std::string>& overrides, Recipe defaults = {});

/// Returns every key with its value, in the order of the schema.
RecipeValues recipe_values(const Recipe& recipe);

/// Returns the recipe with every key, as YAML that load_recipe() reads back to the same values.
std::string recipe_yaml(const Recipe& recipe);

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "config/window_length.h"
#include "config/yaml_of.h"

namespace plimsoll {

/// The word of keys whose value follows from others or from the data.
inline constexpr const char* kAuto = "auto";

/// What to train, typed. Its keys, defaults and meanings are in docs/recipe.md; src/config/schema.h lists
/// them once.
struct Recipe {
  int64_t seed = 42;

  std::string task = "detection";
  std::string model = "gnn";   ///< of the tasks of graphs, nodes and values: `gnn`, or one of `paths`
  std::string init_from = {};  ///< a model file whose weights are the first ones; empty: none
  std::string init_target_scale = "data";  ///< where mean and scale of targets come from then, or `model`

  struct Data {
    std::string features = "compat";
    WindowLength window{100, WindowUnit::frames};
    WindowLength stride{100, WindowUnit::frames};
    std::vector<std::string> without = {};  // features
    int64_t calibration = 0;                // windows of each recording; 0: none
  } data;

  struct Split {
    std::string by = "time";
    double validation = 0.2;
    double test = 0;
    std::string embargo = kAuto;              ///< or a number of graphs
    std::vector<std::string> leave_out = {};  // attacks
    int64_t rule = 2;                         ///< 1: as runs that were made before there was another
  } split;

  struct Training {
    int64_t max_epochs = 30;
    int64_t batch_size = 256;
    double learning_rate = 1e-3;
    std::string optimizer = "adam";
    double weight_decay = 1e-4;
    double momentum = 0;
    std::string schedule = "constant";  ///< of the learning rate (engine/fit/schedule.h)
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
      int64_t seeds = 128;  ///< of one giant graph
    } block;
  } training;

  /// Of one giant graph: what is sampled for a seed.
  struct Sampling {
    std::vector<int64_t> fan_outs = {15, 10, 5};  ///< neighbours a node, hop by hop; -1: all
    bool replace = false;
    bool weighted = false;
    int64_t negatives = 1;        ///< pairs without an edge for each that has one
    bool exclude_targets = true;  ///< edges that a block predicts, either way, are not sampled for it
  } sampling;

  struct Memory {
    std::string estimation = "measured";
  } memory;

  /// How a run is watched, which changes nothing of its result: outside the run's identity.
  struct Run {
    std::vector<std::string> trackers = {};  ///< "tensorboard", "mlflow", "mlflow:URI"
    /// Steps of each stage, as torch.profiler.schedule has them; none are traced where `active` is 0.
    struct Profile {
      int64_t wait = 1;
      int64_t warmup = 1;
      int64_t active = 0;
      bool operators = false;  ///< those of torch too, which costs time
    } profile;
  } run;

  /// A GATWithJK; the defaults are the published small one.
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
    double id_dropout = 0;     ///< share of training windows whose IDs become unknown
    double learning_rate = 0;  ///< 0: training.learning_rate
  } gat;

  /// A GraphAutoencoderNeighborhood; the defaults are the published small one.
  struct Vgae {
    std::string preset = "small";
    bool edge_features = false;
    int64_t embedding = 4;
    std::vector<int64_t> hidden = {80, 40};
    int64_t latent = 16;
    int64_t heads = 1;
    double dropout = 0.1;
    double learning_rate = 0;  ///< 0: training.learning_rate
  } vgae;

  /// Of task distillation: what teaches gat and vgae.
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

  /// SGMP or GTMP: messages along paths of three edges between nodes that have coordinates.
  struct Paths {
    int64_t hidden = 64;
    int64_t layers = 3;
    std::string mode = "corrected";
    std::string cutoff = "auto";  ///< or a number
    int64_t tile = 256;
    std::string direction = "both";
    bool distances_only = false;
    std::string aggregate = "sum";
    int64_t spanning_trees = 0;  ///< in evaluation; a step takes one; 0: all paths
    std::string readout = "sum";
    std::string norm = "none";
  } paths;

  /// GT-SSL: what a model of paths learns of trees that nobody has labelled.
  struct Pretraining {
    int64_t bins = 50;           ///< of the histogram of distances to a node's children
    int64_t angle_bins = 0;      ///< of that of angles to them; 0: there is none
    std::string range = "auto";  ///< the histogram's end: that of paths.cutoff, or a number
    bool leaves = true;          ///< nodes without children count in the growth loss
    std::string order = "vendrov";
    double order_weight = 1;
    double margin = 1;  ///< of nodes neither of which descends from the other
    int64_t root = -1;  ///< where the forest of a graph that is none begins; -1: the node with most edges
  } pretraining;

  /// tree_classification: how classes are learned from pretrained weights, and from scratch.
  struct FineTuning {
    int64_t max_epochs = 100;
    double learning_rate = 3e-4;
  } fine_tuning;

  bool uses_paths() const { return model != "gnn"; }
  /// What the model of a task of graphs, nodes, pairs or values is called.
  const std::string& model_name() const { return uses_paths() ? model : gnn.conv; }
};

/// Gives a model the sizes of a published one: gat small | large | old_teacher, vgae small | large |
/// old_teacher (KD-GAT, graphids/config/models). Errors: UsageError for another name.
void apply_preset(Recipe::Gat& gat, const std::string& preset);
void apply_preset(Recipe::Vgae& vgae, const std::string& preset);
void apply_preset(Recipe::Training::Block& block, const std::string& preset);

/// Reads a YAML recipe and then overrides, each "section.key=value". Keys that are not there keep their
/// `defaults`. Errors: InputError (no such file), UsageError with file, line and column: not YAML, an unknown
/// key (with the nearest known one), a retired key (with what replaces it), a value of the wrong type or out
/// of range, windows whose lengths do not go together.
Recipe load_recipe(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                   Recipe defaults = {});
/// The same from text; `name` is for the error texts.
Recipe parse_recipe(const std::string& text, const std::string& name,
                    const std::vector<std::string>& overrides, Recipe defaults = {});

/// Every key with its value, in the order of the schema.
RecipeValues recipe_values(const Recipe& recipe);

/// The recipe with every key, as YAML that load_recipe reads back to the same values.
std::string recipe_yaml(const Recipe& recipe);

}  // namespace plimsoll

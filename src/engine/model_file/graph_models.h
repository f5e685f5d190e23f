#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/json.h"
#include "config/recipe.h"
#include "nn/graph_model.h"
#include "store/safetensors.h"

namespace plimsoll {

/// The facts about data and task that determine the shape of a model.
struct ModelInputs {
  int64_t node_features = 0;
  int64_t edge_features = 0;
  int64_t ids = 0;           ///< Number of IDs if the first feature of a node is the index of its ID; 0:
                             ///< nodes have no IDs.
  int64_t nodes = 0;         ///< Number of nodes, if each has its own embedding; 0: nodes have features.
  int64_t outputs = 0;       ///< Number of classes, or of values.
  bool node_head = false;    ///< Evaluate nodes instead of graphs.
  bool values = false;       ///< Return values instead of logits of classes.
  bool standardize = false;  ///< Standardise the features of nodes (nn/feature_units.h).
  /// Returns the distance that most edges do not exceed. May read all graphs. Called only for a model of
  /// paths whose cutoff is auto, so other models need none.
  std::function<double()> edge_distance = {};
};

/// Makes the model that a recipe names. Errors: UsageError if the model's section of the recipe is invalid;
/// BudgetExceeded; those of inputs.edge_distance.
std::unique_ptr<GraphModel> make_graph_model(const Recipe& recipe, const ModelInputs& inputs);

/// Reads the model of a file. Embeddings of nodes are a view of the file, which must outlive the model.
/// Errors: InputError, BudgetExceeded.
std::unique_ptr<GraphModel> read_graph_model(const SafetensorsView& file);

/// The kind of a model, as "plimsoll.model" in its file, and its options.
struct ModelDescription {
  std::string_view kind;
  Json options;
};
/// Errors: Failure for a model that no file can hold.
ModelDescription describe_model(const GraphModel& model);

}  // namespace plimsoll

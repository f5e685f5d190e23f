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

/// What the data and the task say of a model that is to be made.
struct ModelInputs {
  int64_t node_features = 0;
  int64_t edge_features = 0;
  int64_t ids = 0;           ///< Number of IDs, of which the first feature is the index; 0: nodes have none.
  int64_t nodes = 0;         ///< Number of nodes that get an embedding of their own; 0: nodes have features.
  int64_t outputs = 0;       ///< Number of classes, or of values.
  bool node_head = false;    ///< Evaluate nodes, not graphs.
  bool values = false;       ///< Return values, not logits of classes.
  bool standardize = false;  ///< Convert the features of nodes (nn/feature_units.h).
  /// Returns the distance that most edges do not exceed. It may read all graphs.
  std::function<double()> edge_distance = {};
};

/// Makes the model that a recipe names. Errors: UsageError for its section.
std::unique_ptr<GraphModel> make_graph_model(const Recipe& recipe, const ModelInputs& inputs);

/// Reads the model of a file. Errors: InputError.
std::unique_ptr<GraphModel> read_graph_model(const SafetensorsView& file);

/// The word of a model in "plimsoll.model" of its file, and its options.
struct ModelDescription {
  std::string_view kind;
  Json options;
};
ModelDescription describe_model(const GraphModel& model);

}  // namespace plimsoll

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/recipe.h"
#include "engine/predict/list_predictor.h"

namespace plimsoll {

/// A model's results in pretraining (nn/tree_pretraining.h) on a list of graphs, as means over nodes.
struct TreeResult {
  std::string name;
  int64_t graphs = 0;
  int64_t nodes = 0;
  double loss = 0;
  double growth = 0;       ///< Earth mover's distance, in bins.
  double parent_edge = 0;  ///< Earth mover's distance, in bins, of the guess that children are as far away as
                           ///< the parent.
  double order = 0;        ///< Loss of the order of embeddings, without order_weight.
  std::optional<double> angle = {};  ///< Earth mover's distance, in bins, if the model predicts angles.
};

/// Evaluates a model on each list. In a rehearsal the results are meaningless. Errors: UsageError if the
/// model is not one of paths; BudgetExceeded; the errors of engine_for() and predict_on_ranks().
std::vector<TreeResult> evaluate_trees(const EvaluationInput& input, const Recipe& recipe);

/// Returns the fields of `evaluate --json` (docs/gtssl.md).
Json trees_json(const std::vector<TreeResult>& results, const std::string& model, int64_t seed);

}  // namespace plimsoll

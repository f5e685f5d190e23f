#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "engine/predict/list_predictor.h"
#include "tasks/metrics/regression_metrics.h"

namespace plimsoll {

/// A model's results on a list of graphs, or on a split of one giant graph.
struct RegressionResult {
  std::string name;    ///< Name of the list or split.
  int64_t graphs = 0;  ///< Number of graphs; 1 for one giant graph.
  double loss = 0;     ///< Same as in training (nn/regression.h).
  RegressionFigures figures;
};

/// Evaluates a model of values on each list. Errors: InputError if the model has another number of targets
/// than the data; those of ListPredictor, predict_on_ranks() and of reading blocks.
std::vector<RegressionResult> evaluate_values(const EvaluationInput& input);

/// Returns the fields of `evaluate --json` (docs/regression.md).
Json regression_json(const std::vector<RegressionResult>& results, const std::string& model, int64_t seed);
/// Return the column names of a table, and the cells of a row for a result.
std::vector<std::string> regression_columns();
std::vector<std::string> regression_row(const RegressionResult& result);

}  // namespace plimsoll

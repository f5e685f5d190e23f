#pragma once

#include <vector>

#include "engine/predict/list_predictor.h"
#include "run/evaluation.h"
#include "tasks/relational/relational_data.h"
#include "tasks/relational/relational_figures.h"

namespace plimsoll {

/// The name of the first metric of a regression. Smaller values are better.
inline constexpr const char* kError = "mae";

/// Evaluates the models of a run, the trivial rules and, if `asked.baseline`, LightGBM on lists of seeds with
/// one label or value each. Errors: InputError for labels that the model does not know; the errors of
/// predict_with_run(), TrivialRules, train_baseline() and baseline_predictions().
std::vector<RelationalResult> evaluate_single_label(const RunEvaluation& asked, const RelationalData& data,
                                                    const std::vector<NamedGraphList>& lists);

}  // namespace plimsoll

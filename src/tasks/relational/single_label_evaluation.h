#pragma once

#include <vector>

#include "engine/predict/list_predictor.h"
#include "run/evaluation.h"
#include "tasks/relational/relational_data.h"
#include "tasks/relational/relational_figures.h"

namespace plimsoll {

/// The first metric of regression, of which a smaller value is better.
inline constexpr const char* kError = "mae";

/// Evaluates the models of a run, the trivial rules and, if `asked.baseline`, LightGBM on lists of seeds with
/// one label or value each. Errors: InputError for labels that the model does not know; BudgetTooSmall; those
/// of train_baseline().
std::vector<RelationalResult> evaluate_single_label(const RunEvaluation& asked, const RelationalData& data,
                                                    const std::vector<NamedGraphList>& lists);

}  // namespace plimsoll

#pragma once

#include <vector>

#include "run/evaluation.h"
#include "sample/block/batches.h"
#include "tasks/relational/relational_data.h"
#include "tasks/relational/relational_figures.h"

namespace plimsoll {

/// Evaluates a run's model of recommendations, and the rules of FrequentDestinations, on lists of seeds with
/// targets: `map`, the mean average precision of the TaskSeeds::list_length() best nodes
/// (nn/average_precision.h). Errors: those of predict_with_run() and FrequentDestinations.
std::vector<RelationalResult> evaluate_recommendation(const RunEvaluation& asked, const RelationalData& data,
                                                      const std::vector<NamedGraphList>& lists);

}  // namespace plimsoll

#pragma once

#include <vector>

#include "run/evaluation.h"
#include "sample/block/batches.h"
#include "tasks/relational/relational_data.h"
#include "tasks/relational/relational_figures.h"

namespace plimsoll {

/// Evaluates a run's model of several labels, and the rules of LabelShares, on lists of labelled seeds:
/// `macro_auc` and `micro_f1` (tasks/metrics/label_metrics.h). Errors: those of predict_with_run() and
/// LabelShares.
std::vector<RelationalResult> evaluate_multilabel(const RunEvaluation& asked, const RelationalData& data,
                                                  const std::vector<NamedGraphList>& lists);

}  // namespace plimsoll

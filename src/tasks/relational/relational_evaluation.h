#pragma once

#include "run/evaluation.h"

namespace plimsoll {

/// Evaluates the model of a run on the splits of its task that did not train it: AUROC, average precision,
/// accuracy and F1 of classes; MAE, NMAE and R2 of values. NMAE is MAE over the standard deviation of the
/// training labels, with one degree of freedom less, as RelBench has it. Errors: UsageError, InputError,
/// BudgetTooSmall.
EvaluationResult evaluate_relational(const RunEvaluation& asked);

}  // namespace plimsoll

#pragma once

#include "run/evaluation.h"

namespace plimsoll {

/// Evaluates a run's model on the splits of its task that were not used for training: AUROC, average
/// precision, accuracy and F1 for classes; MAE, NMAE and R2 for values; MAP@k for recommendations. NMAE is
/// MAE divided by the standard deviation of the training labels, with one degree of freedom less, as in
/// RelBench. Errors: UsageError, InputError, BudgetTooSmall.
EvaluationResult evaluate_relational(const RunEvaluation& asked);

}  // namespace plimsoll

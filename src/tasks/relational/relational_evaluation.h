#pragma once

#include "run/evaluation.h"

namespace plimsoll {

/// Evaluates a run's models, one for each of its random seeds, on the splits of its task that were not used
/// for training: AUROC, accuracy and F1 for classes, and average precision if there are two; macro AUROC and
/// micro F1 for several labels; MAE, NMAE, RMSE and R2 for values; MAP@k for recommendations. NMAE is MAE
/// divided by the standard deviation of the training labels, with one degree of freedom less, as in RelBench.
/// Errors: those of Task::evaluate().
EvaluationResult evaluate_relational(const RunEvaluation& asked);

}  // namespace plimsoll

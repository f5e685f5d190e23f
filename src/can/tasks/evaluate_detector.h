#pragma once

#include "run/evaluation.h"

namespace plimsoll {

/// Evaluates the detector of a run, and rules for comparison, on every split that was not used for training;
/// writes the scores on request. Errors: UsageError, InputError, BudgetTooSmall.
EvaluationResult evaluate_detector(const RunEvaluation& options);

/// The smallest budget with which evaluate_detector() works, in bytes; nothing is evaluated. Throws what
/// evaluate_detector() throws, and BudgetExceeded if the ledger's cap is too low to find out.
int64_t smallest_evaluation_budget(const RunEvaluation& options);

}  // namespace plimsoll

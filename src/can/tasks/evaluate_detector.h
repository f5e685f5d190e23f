#pragma once

#include "run/evaluation.h"

namespace plimsoll {

/// Evaluates the detectors of a run, and rules for comparison, on the lists of lists_to_evaluate(); writes
/// scores and attention on request. A file that cannot be written is reported in the result, so that the
/// metrics are not lost. Errors: UsageError, InputError, BudgetTooSmall.
EvaluationResult evaluate_detector(const RunEvaluation& options);

/// The smallest budget with which evaluate_detector() works, in bytes; nothing is evaluated. Throws what
/// evaluate_detector() throws, and BudgetExceeded if the ledger's cap is too low to find out.
int64_t smallest_evaluation_budget(const RunEvaluation& options);

}  // namespace plimsoll

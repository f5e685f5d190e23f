#pragma once

#include "run/evaluation.h"

namespace plimsoll {

/// Judges the detector of a run, and rules beside it, on every split that did not train it; writes the scores
/// where they are asked for. Errors: UsageError, InputError, BudgetTooSmall.
Findings judge_detector(const RunEvaluation& asked);

/// The smallest budget with which judge_detector() works, in bytes; nothing is judged. Errors: also
/// BudgetExceeded, where the cap of the ledger does not do for that.
int64_t budget_to_judge(const RunEvaluation& asked);

}  // namespace plimsoll

#pragma once

#include "run/predictions.h"

namespace plimsoll {

/// Asks the model of a run about a data set, and writes what it says (but for request.recipe, which is that
/// of the run). Returns how many rows. Errors: UsageError, InputError, Failure; BudgetTooSmall, which names
/// the smallest budget that works.
int64_t predict_run(PredictionRequest request);

/// The smallest budget with which predict_run() works, in bytes; nothing is written. Errors: likewise;
/// BudgetExceeded where the cap of the ledger does not do for what it takes to find out.
int64_t budget_to_predict(PredictionRequest request);

}  // namespace plimsoll

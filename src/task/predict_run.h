#pragma once

#include "task/predictions.h"

namespace plimsoll {

/// Asks the model of a run about a data set, and writes what it says (but for request.recipe, which is that
/// of the run). Returns how many rows. Errors: UsageError, InputError, Failure; BudgetTooSmall.
int64_t predict_run(PredictionRequest request);

}  // namespace plimsoll

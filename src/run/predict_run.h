#pragma once

#include "run/predictions.h"

namespace plimsoll {

/// Predicts all items of a data set with the model of a run, and writes the predictions. Replaces
/// request.recipe with that of the run. With request.exchange all ranks must call it. Returns the number of
/// rows. Errors: UsageError, InputError, Failure; BudgetTooSmall, which
/// names the smallest budget that works.
int64_t predict_run(PredictionRequest request);

/// Returns the smallest budget with which predict_run() works, in bytes; nothing is written. Errors: those of
/// predict_run(); BudgetExceeded if the cap of the ledger is too low to compute it.
int64_t budget_to_predict(PredictionRequest request);

}  // namespace plimsoll

#pragma once

#include "run/predictions.h"

namespace plimsoll {

/// Checks a data set, predicts it with the model of a run, and writes the predictions. Uses the recipe of the
/// run instead of request.recipe. Returns the number of rows. Errors: UsageError, InputError, Failure;
/// BudgetTooSmall, which names the smallest budget that works; those of request.progress.
int64_t predict_run(PredictionRequest request);

/// Returns the smallest budget with which predict_run() works, in bytes; nothing is written. Errors: those of
/// predict_run(); BudgetExceeded if the cap of the ledger is too low to compute it.
int64_t budget_to_predict(PredictionRequest request);

}  // namespace plimsoll

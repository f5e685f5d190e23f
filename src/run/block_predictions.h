#pragma once

#include "nn/objective.h"
#include "run/predictions.h"
#include "run/training_data.h"

namespace plimsoll {

/// Predicts all graphs of a source, block by block, and appends the outputs of each item to `writer`. All
/// ranks of request.exchange must call it. If request.rehearsal is set, only reports the budget to it and
/// appends nothing. Errors: BudgetTooSmall, BudgetExceeded, InputError, Failure; those of request.progress
/// and of predict_on_ranks().
void predict_blocks(const BlockSource& source, const Objective& objective, const PredictionRequest& request,
                    PredictionWriter& writer);

}  // namespace plimsoll

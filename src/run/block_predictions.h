#pragma once

#include "nn/objective.h"
#include "run/predictions.h"
#include "run/training_data.h"

namespace plimsoll {

/// Predicts all graphs of a source, block by block, and writes the outputs of each item. Errors:
/// BudgetTooSmall, InputError, Failure.
void predict_blocks(const BlockSource& source, const Objective& objective, const PredictionRequest& request,
                    PredictionWriter& writer);

}  // namespace plimsoll

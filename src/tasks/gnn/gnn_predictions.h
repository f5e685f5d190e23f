#pragma once

#include "run/predictions.h"
#include "tasks/gnn/gnn_training.h"

namespace plimsoll {

/// Predicts all graphs or nodes of a data set with a run's Gnn: block by block or, for one giant graph, layer
/// by layer out of core. Returns the number of rows written. Errors: UsageError, InputError, BudgetTooSmall,
/// Failure.
int64_t predict_with_gnn(const PredictionRequest& request, const GnnTask& task);

}  // namespace plimsoll

#pragma once

#include "run/predictions.h"
#include "tasks/gnn/gnn_training.h"

namespace plimsoll {

/// Asks a run's Gnn about all graphs or nodes of a data set, block by block or, of one giant graph, layer by
/// layer out of core. Returns how many rows were written. Errors: UsageError, InputError, BudgetTooSmall,
/// Failure.
int64_t predict_with_gnn(const PredictionRequest& request, const GnnTask& task);

}  // namespace plimsoll

#pragma once

#include "run/predictions.h"
#include "tasks/gnn/gnn_training.h"

namespace plimsoll {

/// Predicts all graphs or nodes of a data set, or the nodes that the request lists, with a run's model: block
/// by block or, for one giant graph, layer by layer out of core. Returns the number of rows written; 0 in a
/// rehearsal. Errors: those of Task::predict().
int64_t predict_with_gnn(const PredictionRequest& request, const GnnTask& task);

}  // namespace plimsoll

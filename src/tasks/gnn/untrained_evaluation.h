#pragma once

#include <functional>

#include "engine/model_file/gnn_file.h"
#include "engine/predict/full_neighbours.h"
#include "run/task.h"
#include "sample/neighbour/neighbour_source.h"
#include "tasks/gnn/gnn_training.h"

namespace plimsoll {

/// Evaluates a model on one giant graph. The options contain the rehearsal.
using EvaluateGiantGraph = std::function<void(const GnnModel& model, const NeighbourSource& data,
                                              const FullNeighbourOptions& options)>;

/// Rehearses the evaluation of a Gnn on one giant graph before it is trained, with a model of the same size.
/// Returns false, without a call of `evaluate`, for other data, and if the folder for temporary files is not
/// writable. Errors: those of TrainingData, NewFolder and `evaluate`.
bool rehearse_untrained(const RunRequest& request, const GnnTask& task, Rehearsal& rehearsal,
                        const EvaluateGiantGraph& evaluate);

}  // namespace plimsoll

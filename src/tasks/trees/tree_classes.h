#pragma once

#include "run/evaluation.h"
#include "tasks/gnn/gnn_training.h"

namespace plimsoll {

/// Describes the tasks that predict the growth of trees and their classes.
inline const GnnTask kTrees{.head = GnnHead::trees, .kinds = {"graph_set"}, .forests = true};
inline const GnnTask kTreeClasses{.head = GnnHead::graphs, .kinds = {"graph_set"}, .forests = true};

/// Adds to the JSON how many graphs were not trees and became forests (sample/block/forest_source.h). If
/// there are any, replaces the notes by a line about them, so call it before other notes are added.
void add_forests(EvaluationResult& findings, const TrainingData& data);

/// Evaluates a run of tree_classification. For each seed it evaluates the classes predicted by the fine-tuned
/// model and by the model trained from scratch, and the growth predicted by the pretrained model. On the data
/// used for training, it also evaluates guesses that need no network (tasks/trees/tree_baselines.h). The
/// errors are those of Task::evaluate().
EvaluationResult evaluate_tree_classes(const RunEvaluation& asked);

}  // namespace plimsoll

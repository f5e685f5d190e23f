#pragma once

#include "run/evaluation.h"
#include "tasks/gnn/gnn_training.h"

namespace plimsoll {

/// Describes the tasks that predict the growth of trees and their classes.
inline const GnnTask kTrees{.head = GnnHead::trees, .kinds = {"graph_set"}, .forests = true};
inline const GnnTask kTreeClasses{.head = GnnHead::graphs, .kinds = {"graph_set"}, .forests = true};

/// Adds to notes and JSON how many graphs were not trees and became forests (sample/block/forest_source.h).
void add_forests(EvaluationResult& findings, const TrainingData& data);

/// Evaluates a run of tree_classification. For each seed it evaluates the classes predicted by the fine-tuned
/// model and by the model trained from scratch, and the growth predicted by the pretrained model. On the data
/// that the run was trained on, it also evaluates guesses that need no network
/// (tasks/trees/tree_baselines.h). Errors: UsageError, InputError, BudgetTooSmall.
EvaluationResult evaluate_tree_classes(const RunEvaluation& asked);

}  // namespace plimsoll

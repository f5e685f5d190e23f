#pragma once

#include "run/evaluation.h"
#include "tasks/gnn/gnn_training.h"

namespace plimsoll {

/// How trees grow, and their classes.
inline const GnnTask kTrees{.head = GnnHead::trees, .kinds = {"graph_set"}, .forests = true};
inline const GnnTask kTreeClasses{.head = GnnHead::graphs, .kinds = {"graph_set"}, .forests = true};

/// Says, in notes and JSON, how many graphs were no trees and became forests (sample/block/forest_source.h).
void add_forests(Findings& findings, const TrainingData& data);

/// Judges what a run of tree_classification has trained: of each seed the classes by the fine-tuned model and
/// by the one from scratch, and growth by the pretrained one; beside them guesses that need no network
/// (tasks/trees/tree_baselines.h), where these are the data that trained. Errors: UsageError, InputError,
/// BudgetTooSmall.
Findings judge_tree_classes(const RunEvaluation& asked);

}  // namespace plimsoll

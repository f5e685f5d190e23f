#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/predict/full_neighbours.h"
#include "io/new_folder.h"
#include "run/evaluation.h"
#include "tasks/gnn/gnn_training.h"
#include "tasks/gnn/layers_folder.h"

namespace plimsoll {

/// Evaluates the classes that a run's model predicts for graphs or nodes, on every split that was not used to
/// train it. Errors: those of Task::evaluate().
EvaluationResult evaluate_classes(const RunEvaluation& asked, const TrainedGnn& gnn);

/// Returns the splits of one giant graph that are not used for training and that exist according to `has`; if
/// `only` is not empty, only the split with that name. Errors: UsageError if there is none.
std::vector<std::string> splits_to_evaluate(const std::string& only,
                                            const std::function<bool(size_t split)>& has);

/// Does the same as splits_to_evaluate() for the splits of nodes of one giant graph.
std::vector<std::string> node_splits_to_evaluate(const GraphView& graph, const std::string& only);

/// Returns a page with a table of results, the notes, losses, memory, recipe and versions. Errors: those of
/// read_run_record().
Markup table_report(const std::string& title, std::vector<std::string> columns,
                    const std::vector<std::vector<std::string>>& rows, const RunFolder& run,
                    const std::string& notes = {});

/// Returns evaluate(options), with the options for predicting nodes of one giant graph. Until it returns,
/// each rank keeps the outputs of layers in files of its own. Errors: those of layers_folder(), NewFolder,
/// asked.progress and `evaluate`.
template <typename Evaluate>
auto evaluate_from_all_neighbours(const RunEvaluation& asked, const TrainedGnn& gnn,
                                  const Evaluate& evaluate) {
  asked.progress(0, 1);  // Called before the folder is created.
  const int ranks = ranks_of(asked.exchange);
  // The ranks may all have their folders on one disk.
  const int64_t bytes = ranks * layer_bytes(gnn.model.gnn(), gnn.data.neighbours()->graph().nodes());
  const NewFolder scratch(layers_folder(asked.folder, bytes), /*replace=*/false);
  return evaluate(FullNeighbourOptions{.scratch = scratch.path(),
                                       .memory = asked.memory,
                                       .rehearsal = asked.rehearsal,
                                       .progress = asked.progress,
                                       .order = gnn.order,
                                       .ranks = ranks,
                                       .exchange = asked.exchange});
}

}  // namespace plimsoll

#pragma once

#include <memory>
#include <string>

#include "run/task.h"
#include "tasks/gnn/gnn_stage.h"

namespace plimsoll {

/// Describes one of the tasks of a Gnn.
struct GnnTask {
  GnnHead head;
  /// The kinds of data sets that the task accepts, such as "graph_set".
  std::vector<std::string> kinds;
  /// Whether it also accepts kinds whose graphs are made when they are read (run/training_data.h).
  bool opened_kinds = false;
  /// The targets to predict instead of classes.
  Targets targets = Targets::none;
  /// Whether graphs become forests (sample/block/forest_source.h).
  bool forests = false;
  MakeObjective objective = nullptr;  ///< As in GnnStageOptions.

  /// The labels to predict for nodes of one giant graph.
  NodeLabels labels() const {
    if (head == GnnHead::labels) return NodeLabels::multi;
    return targets == Targets::none ? NodeLabels::classes : NodeLabels::numbers;
  }
};

/// Opens a data set to train a Gnn in a single stage. Errors: those of Task::open().
std::unique_ptr<Training> open_gnn_training(RunRequest request, const GnnTask& task);

/// A trained Gnn of a run, and a data set to use it on.
struct TrainedGnn {
  /// Opens the model of a run, and a data set, which may differ from the one used for training. One giant
  /// graph needs no labels and no splits, and has no blocks of seeds. Features in another order are read by
  /// name. Errors: those of load_gnn(), require_kind() and TrainingData; InputError if the data has other
  /// features or IDs than the model.
  TrainedGnn(const RunFolder& folder, const Recipe& recipe, const std::filesystem::path& set,
             const GnnTask& task)
      : TrainedGnn(folder.model(recipe), recipe, set, task) {}
  /// Opens a model file and a data set.
  TrainedGnn(const std::filesystem::path& file, const Recipe& recipe, const std::filesystem::path& set,
             const GnnTask& task);

  GnnModel model;
  TrainingData data;
  FeatureOrder order;  ///< Where the model finds each of its features in the data.
};

/// Throws UsageError for options that only other tasks have.
void require_no_task_options(const RunEvaluation& asked);

}  // namespace plimsoll

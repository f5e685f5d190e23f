#pragma once

#include <memory>
#include <string>

#include "run/task.h"
#include "tasks/gnn/gnn_stage.h"

namespace plimsoll {

/// What a Gnn learns in one of its tasks.
struct GnnTask {
  GnnHead head;
  /// The kinds of data sets that it is for.
  std::vector<std::string> kinds;
  /// Numbers to be predicted in place of classes.
  Targets targets = Targets::none;
  /// Whether graphs become forests (sample/block/forest_source.h).
  bool forests = false;
};

/// Opens a data set to train a Gnn, which is one stage. Errors: as Task::open().
std::unique_ptr<Training> open_gnn_training(TrainingInput input, const GnnTask& task);

/// A Gnn that a run has trained, and data that it can be asked about.
struct TrainedGnn {
  /// Of a run, and a data set in place of the one that trained. Errors: InputError for other features or IDs
  /// than it was trained on.
  TrainedGnn(const RunFolder& folder, const Recipe& recipe, const std::filesystem::path& set,
             const GnnTask& task)
      : TrainedGnn(folder.model(recipe), recipe, set, task) {}
  /// Of a model file.
  TrainedGnn(const std::filesystem::path& file, const Recipe& recipe, const std::filesystem::path& set,
             const GnnTask& task);

  GnnModel model;
  TrainingData data;
};

/// Errors: UsageError for what only detectors can be asked.
void require_no_detector_options(const RunEvaluation& asked);

}  // namespace plimsoll

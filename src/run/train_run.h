#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/unsaved.h"
#include "run/run_request.h"
#include "run/run_stages.h"

namespace plimsoll {

/// The result of a run. On ranks other than 0, `main`, `file` and `seconds` are not set.
struct TrainedRun {
  std::vector<TrainedStage> stages;  ///< Without the stages whose columns already existed.
  std::optional<TrainedStage> main;  ///< The stage whose model is the run's result, if it ran.
  std::string model;                 ///< Name of the model.
  std::string trained_on;            ///< Description of the data.
  std::filesystem::path file;        ///< Model file of the result; empty if `main` is not set.
  double seconds = 0;
  Unsaved unsaved = {};  ///< Set if the manifest of the finished run could not be saved; resuming the run
                         ///< writes it.

  bool is_one_model() const { return stages.size() == 1 && !stages.front().report.weights.empty(); }
};

/// Trains the model described by a recipe, and writes the run to its folder (docs/formats/run.md). Errors:
/// UsageError, InputError, Failure, ThreadRefused. Before training, BudgetTooSmall, which names the smallest
/// budget that works, or BudgetExceeded if request.explains_refusals is false. BudgetExceeded and Interrupted
/// during training leave a run that can be resumed. A new run that ends without a checkpoint is removed, and
/// the run that it would have replaced is restored.
TrainedRun train_run(const RunRequest& request);

/// Throws UsageError for several seeds if the task accepts only one, and for a teacher if the task uses none.
void require_taken(const Recipe& recipe, int64_t seeds, const std::filesystem::path& teacher);

}  // namespace plimsoll

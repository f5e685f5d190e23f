#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/unsaved.h"
#include "run/run_request.h"
#include "run/run_stages.h"

namespace plimsoll {

/// The result of a run.
struct TrainedRun {
  std::vector<TrainedStage> stages;  ///< Columns that already existed are left out.
  std::optional<TrainedStage> main;  ///< The stage whose model is the run's result, if it ran.
  std::string model;                 ///< Name of the model.
  std::string trained_on;            ///< Description of the data.
  std::filesystem::path file;        ///< The file of the model.
  double seconds = 0;
  Unsaved unsaved = {};  ///< Set if the manifest of the finished run could not be saved; resuming the run
                         ///< writes it.

  bool is_one_model() const { return stages.size() == 1 && !stages.front().report.weights.empty(); }
};

/// Trains the model described by a recipe, and leaves a run in the folder (docs/formats/run.md). Errors:
/// UsageError, InputError, Failure; BudgetTooSmall, which names the smallest budget that works, before
/// anything is done; BudgetExceeded and Interrupted later, with a run that can be resumed.
TrainedRun train_run(const RunRequest& request);

/// Throws UsageError for several seeds if the task accepts only one, and for a teacher if the task has none.
void require_taken(const Recipe& recipe, int64_t seeds, const std::filesystem::path& teacher);

}  // namespace plimsoll

#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/unsaved.h"
#include "run/plan_run.h"
#include "run/task.h"
#include "run/tracker_process.h"

namespace plimsoll {

/// A run to train, and how.
struct TrainRequest {
  TrainingInput input;
  std::filesystem::path folder;  ///< Folder of the run.
  int64_t seeds = 1;             ///< Number of seeds, counting up from the recipe's.
  /// The stages to run, in the task's order, with the results of earlier runs; empty: all.
  std::vector<std::string> stages = {};
  bool verify_all = false;  ///< Check the checksums of all columns, however large.
  bool resume = false;      ///< Continue the run in the folder, if there is one.
  bool force = false;       ///< Replace an existing run.
  /// Continue, with a warning, a run that was rounded in another way (engine/fit/rounding.h).
  bool allow_other_rounding = false;
  std::vector<std::filesystem::path> reads = {};  ///< Files that must not be in a run that is replaced.
  int64_t budget = 0;                             ///< Bytes; 0: no budget.
  /// Whether an early refusal names the smallest budget that works, which raises the cap of the ledger. If
  /// false, the caller does it with largest_budget(plan_beyond_budget()).
  bool explains_refusals = true;
  /// Further facts of the program and its limits for the manifest.
  Json facts = Json::object();
  /// Makes the kernel hold the process to the budget during the run, and describes how, for the manifest.
  /// `release` ends it, before a refusal is explained.
  std::function<Json()> enforce = [] { return Json(); };
  std::function<void()> release = [] {};
  /// Memory used, for the manifest; called at the end.
  std::function<Json()> memory = [] { return Json(); };
  /// The process that follows the run for its trackers, if the caller has started it; otherwise train_run()
  /// starts it.
  std::shared_ptr<const TrackerProcess> trackers = {};
  /// Options of all stages: threads, prefetch, bytes outside the ledger, interrupt, on_started.
  RunOptions run = {};
  /// Makes the progress callback of a stage that starts. `unit` names what is counted.
  std::function<decltype(RunOptions::progress)(const std::string& title, const char* unit)> progress_of =
      [](const std::string&, const char*) { return [](int64_t, int64_t, const std::string&) {}; };
};

/// The result of a run.
struct TrainedRun {
  std::vector<TrainedStage> stages;  ///< Columns that existed already are left out.
  std::optional<TrainedStage> main;  ///< The stage whose model is the run's result, if it ran.
  std::string model;                 ///< Text that names the model.
  std::string trained_on;            ///< Text that describes the data.
  std::filesystem::path file;        ///< The file of the model or detector.
  double seconds = 0;
  Unsaved unsaved = {};  ///< Set if the manifest of the finished run could not be saved; `resume` writes it.

  bool is_one_model() const { return stages.size() == 1 && !stages.front().report.weights.empty(); }
};

/// Trains the model described by a recipe, and leaves a run in the folder (docs/formats/run.md). Errors:
/// UsageError, InputError, Failure; BudgetTooSmall, which names the smallest budget that works, before
/// anything is done; BudgetExceeded and Interrupted later, with a run that can be resumed.
TrainedRun train_run(const TrainRequest& request);

/// Throws UsageError for several seeds of a task that takes one, and for a teacher of a task that has none.
void require_taken(const Recipe& recipe, int64_t seeds, const std::filesystem::path& teacher);

/// Graphs per second over all epochs, validation included; 0 if nothing was trained.
double graphs_per_second(const StageReport& report);

/// The entry "stages" of the run's manifest.
Json stages_json(const std::vector<TrainedStage>& stages);

}  // namespace plimsoll

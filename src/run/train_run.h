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
  std::filesystem::path folder;  ///< of the run
  int64_t seeds = 1;             ///< the recipe's, and those that follow it
  /// The stages to run, in the task's order, with what earlier runs left; empty: all.
  std::vector<std::string> stages = {};
  bool verify_all = false;  ///< checksums of all columns, however large
  bool resume = false;      ///< goes on with the run in the folder, if there is one
  bool force = false;       ///< replaces it
  /// Goes on with a run that was rounded in another way (engine/fit/rounding.h), with a warning.
  bool allow_other_rounding = false;
  std::vector<std::filesystem::path> reads = {};  ///< that must not lie in a run that is replaced
  int64_t budget = 0;                             ///< bytes
  /// Whether a refusal before anything is done is answered with the smallest budget that works: the cap of
  /// the ledger is raised for that. Else it is the caller's, with largest_budget(plan_beyond_budget()).
  bool explains_refusals = true;
  /// What the manifest says of the program and its limits, beside what is known here.
  Json facts = Json::object();
  /// Has the kernel hold the process to the budget while the run works, and says how, for the manifest;
  /// `release` ends it, before a refusal is explained.
  std::function<Json()> enforce = [] { return Json(); };
  std::function<void()> release = [] {};
  /// What was used of memory, for the manifest; asked at the end.
  std::function<Json()> memory = [] { return Json(); };
  /// What follows the run for its trackers, where the caller has started it; else train_run() does.
  std::shared_ptr<const TrackerProcess> trackers = {};
  /// Of all stages: threads, prefetch, bytes outside the ledger, interrupt, begun.
  RunOptions run = {};
  /// Makes the progress of a stage that begins. `unit`: what is counted.
  std::function<decltype(RunOptions::progress)(const std::string& title, const char* unit)> progress_of =
      [](const std::string&, const char*) { return [](int64_t, int64_t, const std::string&) {}; };
};

/// What a run has done.
struct TrainedRun {
  std::vector<TrainedStage> stages;  ///< columns that were there are left out
  std::optional<TrainedStage> main;  ///< whose model the run is about, where it is among them
  std::string model;                 ///< what was trained, in words
  std::string trained_on;            ///< likewise
  std::filesystem::path file;        ///< the model, or detector
  double seconds = 0;
  Unsaved unsaved = {};  ///< the manifest of the finished run; `resume` writes it

  bool is_one_model() const { return stages.size() == 1 && !stages.front().report.weights.empty(); }
};

/// Trains what a recipe says, and leaves a run in the folder (docs/formats/run.md). Errors: UsageError,
/// InputError, Failure; BudgetTooSmall, which names the smallest budget that works, before anything is done;
/// BudgetExceeded and Interrupted later, with a run that can be resumed.
TrainedRun train_run(const TrainRequest& request);

/// Errors: UsageError for seeds of a task that has one, and for a teacher of a task that learns from none.
void require_taken(const Recipe& recipe, int64_t seeds, const std::filesystem::path& teacher);

/// Graphs a second over all epochs, validation included; 0 where none was trained.
double graphs_per_second(const StageReport& report);

/// Entry "stages" of the run's manifest.
Json stages_json(const std::vector<TrainedStage>& stages);

}  // namespace plimsoll

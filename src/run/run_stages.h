#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "run/run_folder.h"
#include "run/stage.h"

namespace plimsoll {

/// A stage that a run has done.
struct TrainedStage {
  int64_t seed = 0;
  StageReport report;
};

/// A stage of one seed of a run.
struct SeededStage {
  int64_t seed = 0;
  Stage stage;
};

/// How the stages of a run are run.
struct StageRuns {
  const RunFolder* folder = nullptr;
  RunOptions run = {};        ///< of all; folder, identity and progress are those of a stage
  std::string identity = {};  ///< of recipe and data, without the seed
  /// Makes the progress of a stage that begins.
  std::function<decltype(RunOptions::progress)(const std::string& title)> progress_of = {};
};

/// Runs stages one after the other. Of several each has beside it what earlier ones left in the process
/// (engine/plan/stage_memory.h). Of a run of several ranks all are done with one before the next begins.
/// Errors: those of the stages.
std::vector<TrainedStage> run_stages(std::span<const SeededStage> stages, const StageRuns& runs);

/// The plans of stages, by name.
using StagePlans = std::vector<std::pair<std::string, MemoryPlan>>;

/// Which memory each stage needs and gets; nothing is written. Errors: those of the stages.
StagePlans plan_stages(std::span<const SeededStage> stages, const RunOptions& run);
/// The one that needs the largest budget.
const MemoryPlan& largest_budget(const StagePlans& plans);

}  // namespace plimsoll

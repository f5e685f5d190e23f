#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "run/run_folder.h"
#include "run/stage.h"

namespace plimsoll {

/// A stage that a run has finished.
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
  /// Options of all stages; run_stages() sets folder, identity and progress for each stage.
  RunOptions run = {};
  std::string identity = {};  ///< Identity of recipe and data, without the seed.
  /// Makes the progress callback of a stage that starts.
  std::function<decltype(RunOptions::progress)(const std::string& title)> progress_of = {};
};

/// Runs stages one after the other. Each stage's plan accounts for the memory left by earlier ones
/// (engine/plan/stage_memory.h). In a run of several ranks all of them finish a stage before the next starts.
/// Errors: those of the stages.
std::vector<TrainedStage> run_stages(std::span<const SeededStage> stages, const StageRuns& runs);

/// The plans of stages, by name.
using StagePlans = std::vector<std::pair<std::string, MemoryPlan>>;

/// Plans the memory of each stage; nothing is written. Errors: those of the stages.
StagePlans plan_stages(std::span<const SeededStage> stages, const RunOptions& run);
/// The plan that needs the largest budget.
const MemoryPlan& largest_budget(const StagePlans& plans);

}  // namespace plimsoll

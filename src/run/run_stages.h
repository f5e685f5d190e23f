#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "run/run_folder.h"
#include "run/run_observer.h"
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

/// Runs stages one after the other. `run` has the folder of the run and the identity of its recipe and data,
/// from which the folder and identity of each stage are derived. `observer` is notified of each stage; `unit`
/// names what its progress counts. Each stage's plan accounts for the memory left by earlier ones
/// (engine/plan/stage_memory.h). In a run of several ranks, all ranks finish a stage before the next one
/// starts. Returns the stages that ran, without those whose result an earlier run left
/// (StageReport::was_there). Errors: those of the stages.
std::vector<TrainedStage> run_stages(std::span<const SeededStage> stages, const RunOptions& run,
                                     RunObserver& observer, const char* unit);

/// Plans of stages, by name.
using StagePlans = std::vector<std::pair<std::string, MemoryPlan>>;

/// Plans the memory of each stage; nothing is written. Only the plan with the largest peak keeps the places
/// of its tensors, to save memory. Errors: those of the stages.
StagePlans plan_stages(std::span<const SeededStage> stages, const RunOptions& run);
/// Returns the plan in `plans` that needs the largest budget. `plans` must not be empty.
const MemoryPlan& largest_budget(const StagePlans& plans);

}  // namespace plimsoll

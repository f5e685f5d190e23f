#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/run_folder.h"
#include "cli/training_data.h"
#include "train/distill.h"

namespace plimsoll {

/// A stage that a run has done.
struct TrainedStage {
  int64_t seed = 0;
  StageReport report;
};

/// What a run leaves to be told.
struct Trained {
  std::vector<TrainedStage> stages;
  std::string model;  ///< of a run of one stage, in words
  std::string on;     ///< what it was trained on, in words

  bool is_one_model() const { return stages.size() == 1; }
};

/// How the stages of a run are run.
struct StageRuns {
  const RunFolder* folder = nullptr;
  std::vector<int64_t> seeds;  ///< of a distillation; other tasks have that of the recipe
  RunOptions run;              ///< of all; folder, identity and progress are those of a stage
  std::string identity;        ///< of recipe and data, without the seed
  /// Makes the progress of a stage that begins.
  std::function<decltype(RunOptions::progress)(const std::string& title)> progress_of;
  /// Told of each stage that is done.
  std::function<void(const TrainedStage&)> done = [](const TrainedStage&) {};
};

/// Trains what a recipe says. Errors: those of the stages.
Trained train_stages(const TrainingData& data, const Recipe& recipe, const StageRuns& runs);

/// The plans of a run's stages, by name.
using StagePlans = std::vector<std::pair<std::string, MemoryPlan>>;

/// What each stage needs and gets of memory; nothing is written. Errors: those of the stages.
StagePlans plan_stages(const TrainingData& data, const Recipe& recipe, const RunOptions& run);
/// The one that needs the largest budget.
const MemoryPlan& decisive(const StagePlans& plans);

}  // namespace plimsoll

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "can/tasks/detector_file.h"
#include "config/recipe.h"
#include "engine/data/split.h"
#include "engine/fit/fit.h"
#include "nn/objective.h"
#include "run/stage.h"

namespace plimsoll {

/// The result of training one detector.
struct StageResult {
  Detector detector;  ///< The weights of the best epoch.
  FitResult fit;
  std::string weights_hash;  ///< ParameterList::hash() of these weights.
};

/// The report on a stage that was trained on this split.
StageReport report_of(const char* stage, StageResult result, const TrainingSplit& split);

/// The training of one detector, ready to start. `fit` refers to the other members.
struct DetectorStage {
  explicit DetectorStage(const Recipe& stage_recipe) : recipe(stage_recipe) {}
  DetectorStage(const DetectorStage&) = delete;
  DetectorStage& operator=(const DetectorStage&) = delete;

  /// Trains, sets thresholds from the benign validation graphs of `source` and, if fit.run.writes(), writes
  /// model.safetensors to the folder of the run. Moves `detector` out, so call it once. Errors: those of
  /// fit(), set_thresholds() and save_detector().
  StageResult train(const BlockSource& source);

  Recipe recipe;
  Detector detector;
  std::vector<std::unique_ptr<Objective>> objectives;  ///< Each objective wraps the one before.
  FitOptions fit;
};

}  // namespace plimsoll

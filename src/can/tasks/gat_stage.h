#pragma once

#include <memory>

#include "can/tasks/detector_file.h"
#include "can/tasks/detector_stage.h"
#include "config/recipe.h"
#include "engine/data/curriculum.h"
#include "engine/data/split.h"
#include "engine/fit/fit.h"
#include "engine/fit/teacher_outputs.h"

namespace plimsoll {

struct GatStageOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< one for each graph of the source
  const Recipe* recipe = nullptr;           ///< whose section gat is what to train
  const TrainingSplit* split = nullptr;
  const Curriculum* curriculum = nullptr;  ///< none: every epoch trains on all
  /// Whose logits to learn from as well (recipe->distillation); none: from labels alone.
  TeacherOutputs teacher = {};
  DetectorFacts facts;  ///< thresholds are added
  RunOptions run;       ///< model.safetensors goes to its folder as well
};

/// What train_gat() would need and get of memory; nothing is written. Errors: as train_gat().
MemoryPlan plan_gat(const GatStageOptions& options);

/// Trains a GATWithJK as a detector of attacks, takes its thresholds from benign validation windows, and
/// writes it to model.safetensors. Errors: as fit() and require_both_kinds().
StageResult train_gat(const GatStageOptions& options);

/// The model as it begins.
std::unique_ptr<GATWithJK> make_gat(const Recipe& recipe, const BlockSource& source);

}  // namespace plimsoll

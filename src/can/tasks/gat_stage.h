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
  std::span<const GraphShape> shapes = {};  ///< One entry for each graph of the source.
  const Recipe* recipe = nullptr;           ///< The section gat describes the model to train.
  const TrainingSplit* split = nullptr;
  const Curriculum* curriculum = nullptr;  ///< Null: every epoch uses all graphs.
  /// The teacher whose logits the model also learns (recipe->distillation); empty: it learns only labels.
  TeacherOutputs teacher = {};
  DetectorFacts facts;  ///< Thresholds are added.
  RunOptions run;       ///< model.safetensors is also written to the folder of the run.
};

/// The memory that train_gat() would need and get; nothing is written. Errors: those of train_gat().
MemoryPlan plan_gat(const GatStageOptions& options);

/// Trains a GATWithJK as a detector of attacks, sets its thresholds from benign validation windows, and
/// writes it to model.safetensors. Errors: those of DetectorStage::train() and require_both_kinds().
StageResult train_gat(const GatStageOptions& options);

/// The untrained model.
std::unique_ptr<GATWithJK> make_gat(const Recipe& recipe, const BlockSource& source);

}  // namespace plimsoll

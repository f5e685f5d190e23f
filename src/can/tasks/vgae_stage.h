#pragma once

#include <memory>

#include "can/tasks/detector_stage.h"
#include "engine/fit/teacher_outputs.h"

namespace plimsoll {

struct VgaeStageOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< one for each graph of the source
  const Recipe* recipe = nullptr;           ///< whose section vgae is what to train
  const TrainingSplit* split = nullptr;     ///< of benign graphs alone
  /// Whose Encodings to learn from as well; none: from the data alone.
  TeacherOutputs teacher = {};
  int64_t teacher_latent = 0;  ///< width of its code
  DetectorFacts facts;         ///< thresholds are added
  RunOptions run;              ///< model.safetensors goes to its folder as well
};

/// What train_vgae() would need and get of memory; nothing is written. Errors: as train_vgae().
MemoryPlan plan_vgae(const VgaeStageOptions& options);

/// Trains a GraphAutoencoderNeighborhood on benign graphs, takes its thresholds from those of validation, and
/// writes it to model.safetensors. Errors: as fit(); InputError for a graph with an attack, or where none
/// trains or validates.
StageResult train_vgae(const VgaeStageOptions& options);

/// The model as it begins.
std::unique_ptr<GraphAutoencoderNeighborhood> make_vgae(const Recipe& recipe, const BlockSource& source);

/// A split's graphs without attacks.
TrainingSplit benign_split(const TrainingSplit& split, std::span<const GraphShape> shapes);

}  // namespace plimsoll

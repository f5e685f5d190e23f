#pragma once

#include <memory>

#include "can/tasks/detector_stage.h"
#include "engine/fit/teacher_outputs.h"

namespace plimsoll {

struct VgaeStageOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< One entry for each graph of the source.
  const Recipe* recipe = nullptr;           ///< The section vgae describes the model to train.
  const TrainingSplit* split = nullptr;     ///< Contains only benign graphs.
  /// The teacher whose Encodings the model also learns; empty: it learns only the data.
  TeacherOutputs teacher = {};
  int64_t teacher_latent = 0;  ///< Width of the teacher's code. Used only with a teacher.
  DetectorFacts facts;         ///< Thresholds are added.
  RunOptions run;              ///< model.safetensors is also written to the folder of the run.
};

/// The memory that train_vgae() would need and get; nothing is written. Errors: those of train_vgae().
MemoryPlan plan_vgae(const VgaeStageOptions& options);

/// Trains a GraphAutoencoderNeighborhood on benign graphs, sets its thresholds from the validation graphs,
/// and writes it to model.safetensors. Errors: those of DetectorStage::train(); InputError for a graph with
/// an attack, or if there is no training graph or no validation graph.
StageResult train_vgae(const VgaeStageOptions& options);

/// The untrained model.
std::unique_ptr<GraphAutoencoderNeighborhood> make_vgae(const Recipe& recipe, const BlockSource& source);

/// A split's graphs without attacks.
TrainingSplit benign_split(const TrainingSplit& split, std::span<const GraphShape> shapes);

}  // namespace plimsoll

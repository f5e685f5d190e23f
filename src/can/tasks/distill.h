#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "can/tasks/detector_file.h"
#include "config/recipe.h"
#include "engine/data/split.h"
#include "run/stage.h"

namespace plimsoll {

/// The pipeline of KD-GAT (docs/distillation.md) for one seed.
struct DistillOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< One entry for each graph of the source.
  Recipe recipe;                            ///< Includes the seed.
  const TrainingSplit* split = nullptr;
  DetectorFacts facts;            ///< Facts of every detector; thresholds are added.
  std::string data;               ///< Identity of the data set.
  std::filesystem::path folder;   ///< Folder of the seed, with a folder for each stage, and columns/.
  std::filesystem::path teacher;  ///< A detector that replaces a trained teacher; empty: none.
};

/// Names of the stages that other files refer to.
inline constexpr const char* kGatTeacher = "teacher";
inline constexpr const char* kStudentGat = "student_gat";

/// The stages, in this order; each stage that trains a detector writes it to its folder.
///
/// - autoencoder: the teacher's VGAE, on benign windows.
/// - difficulty: a column of reconstruction errors for all benign training windows.
/// - teacher_encodings: a column of the autoencoder's outputs for the benign training and validation windows.
/// - teacher: the GAT, trained by curriculum.
/// - teacher_logits: a column of the teacher's outputs for all training and validation windows.
/// - student_vgae, student_gat: students distilled from the outputs of the stages above.
/// - student_gat_alone: the same GAT, trained on labels alone.
///
/// Without a curriculum there is no stage difficulty, and the other columns exist only for cached outputs. A
/// given `teacher` replaces a stage: a GAT replaces the stage teacher, an autoencoder the stage autoencoder.
///
/// The graphs that a curriculum chooses are not known when stages are planned, so the plan gives an upper
/// bound for the teacher's memory. With RunOptions::resume each stage continues where it stopped, and
/// existing columns are kept. The objects that `options` points to must outlive the stages. Errors:
/// InputError for windows on which not all stages can be trained, and for a `teacher` with other features or
/// IDs.
std::vector<Stage> distillation_stages(DistillOptions options);

}  // namespace plimsoll

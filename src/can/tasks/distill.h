#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "can/tasks/detector_file.h"
#include "config/recipe.h"
#include "engine/data/split.h"
#include "run/stage.h"

namespace plimsoll {

/// The pipeline of KD-GAT (reference: docs/distillation.md), for one seed.
struct DistillOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< one for each graph of the source
  Recipe recipe;                            ///< with the seed
  const TrainingSplit* split = nullptr;
  DetectorFacts facts;            ///< of every detector; thresholds are added
  std::string data;               ///< identity of the data set
  std::filesystem::path folder;   ///< of the seed: a folder for each stage, and columns/
  std::filesystem::path teacher;  ///< a detector that takes the place of a trained teacher; empty: none
};

/// The stages, in this order; a detector is in the folder of each that trains one.
///
/// autoencoder: the teacher's VGAE, on benign windows. difficulty: of every benign training window, a column.
/// teacher_encodings: what the autoencoder says of the benign windows that train or validate, a column.
/// teacher: the GAT, by curriculum. teacher_logits: what it says of all windows that train or validate, a
/// column. student_vgae, student_gat: distilled from these. student_gat_alone: the same GAT from labels
/// alone.
///
/// A `teacher` that is a GAT replaces the stage teacher, one that is an autoencoder the stage autoencoder.
///
/// What a curriculum will pick is not known when stages are planned: the teacher's need is seen from above.
/// With RunOptions::resume each goes on where it stood, and columns that are there stay. What `options`
/// points to must outlive the stages. Errors: InputError for windows that cannot train all of them, and for a
/// `teacher` of other features or IDs.
std::vector<Stage> distillation_stages(DistillOptions options);

}  // namespace plimsoll

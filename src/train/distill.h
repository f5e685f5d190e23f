#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "train/gat_stage.h"

namespace plimsoll {

/// The pipeline of KD-GAT (reference: docs/distillation.md), for one seed.
struct DistillOptions {
  const BlockSource* source = nullptr;
  std::span<const GraphShape> shapes = {};  ///< one for each graph of the source
  const Recipe* recipe = nullptr;
  const TrainingSplit* split = nullptr;
  DetectorFacts facts;           ///< of every detector; thresholds are added
  std::string data;              ///< identity of the data set
  std::filesystem::path folder;  ///< of the seed: a folder for each stage, and columns/
  /// How a stage is run: its folder, which exists, its identity, progress.
  std::function<RunOptions(const std::string& stage)> run_of;
};

/// What became of a stage.
struct StageReport {
  std::string stage;
  std::string weights;  ///< hash; empty for a stage that computes columns
  int64_t parameters = 0;
  int64_t graphs = 0;  ///< that train and validate, or that a column is about; of one giant graph seeds
  std::string unit = "graphs";
  FitResult fit;  ///< of a column its plan alone
  double seconds = 0;
  int64_t measured_peak = 0;  ///< bytes: the highest anonymous memory of the process since it began
};

/// Runs all stages, in this order; a detector is in the folder of each that trains one.
///
/// autoencoder: the teacher's VGAE, on benign windows. difficulty: of every benign training window, a column.
/// teacher_encodings: what the autoencoder says of the benign windows that train or validate, a column.
/// teacher: the GAT, by curriculum. teacher_logits: what it says of all windows that train or validate, a
/// column. student_vgae, student_gat: distilled from these. student_gat_alone: the same GAT from labels
/// alone.
///
/// With RunOptions::resume each goes on where it stood, and columns that are there stay.
/// `done` is told of each stage. Errors: as fit() and write_column().
void distill(const DistillOptions& options, const std::function<void(const StageReport&)>& done);

/// What each stage would need and get of memory; nothing is written. What a curriculum will pick is not known
/// then: the teacher's need is seen from above.
std::vector<std::pair<std::string, MemoryPlan>> plan_distill(const DistillOptions& options);

}  // namespace plimsoll

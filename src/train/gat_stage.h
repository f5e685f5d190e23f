#pragma once

#include <filesystem>
#include <string>

#include "config/recipe.h"
#include "sample/block.h"
#include "train/fit.h"
#include "train/model_file.h"
#include "train/split.h"

namespace plimsoll {

struct GatStageOptions {
  const BlockSource* source = nullptr;
  const Recipe* recipe = nullptr;
  const TrainingSplit* split = nullptr;
  std::vector<uint32_t> benign_ids;
  std::shared_ptr<const NamedTensors> benign = {};  ///< for DetectorModel::benign
  RunOptions run;                                   ///< model.safetensors goes to its folder as well
};

struct GatStageResult {
  DetectorModel detector;  ///< the best epoch's weights
  FitResult fit;
  std::string weights_hash;
  int64_t training_attacks = 0;
};

/// What train_gat() would need and get of memory; nothing is written. Errors: as train_gat().
MemoryPlan plan_gat(const GatStageOptions& options);

/// Trains a GATWithJK as a detector of attacks, takes its thresholds from benign validation windows, and
/// writes it to model.safetensors. Errors: as fit(); InputError unless the training windows are of both
/// kinds.
GatStageResult train_gat(const GatStageOptions& options);

}  // namespace plimsoll

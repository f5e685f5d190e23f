#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "config/recipe.h"
#include "sample/block.h"
#include "train/model_file.h"
#include "train/split.h"

namespace plimsoll {

/// One epoch of training, as it goes to metrics.csv.
struct EpochMetrics {
  int64_t epoch = 0;
  double training_loss = 0;
  double validation_loss = 0;
  double gradient_norm = 0;  ///< mean over the steps, before clipping
  double seconds = 0;
};

struct GatStageOptions {
  const BlockSource* source = nullptr;
  const Recipe* recipe = nullptr;
  const TrainingSplit* split = nullptr;
  std::vector<uint32_t> benign_ids;
  std::filesystem::path folder;  ///< where model.safetensors, metrics.csv and events.jsonl go; must exist
  int threads = 1;
  std::function<void(int64_t done, int64_t total, const std::string& note)> progress;
};

struct GatStageResult {
  DetectorModel detector;  ///< the best epoch's weights
  std::vector<EpochMetrics> epochs;
  int64_t best_epoch = 0;
  std::string weights_hash;
  int64_t training_attacks = 0;
  int blocks_in_flight = 1;  ///< as many of the threads as the budget has room for
  int64_t reruns = 0;        ///< blocks that had to run again alone for memory
};

/// Trains a GATWithJK: Adam over shuffled batches until max_epochs, or until the validation loss has not
/// improved for `patience` epochs; keeps the weights of the best epoch and sets thresholds by benign
/// validation windows at 1 % and 0.1 %. The largest block is run once before the first step, so that a budget
/// that cannot hold it is refused at once. Errors: BudgetExceeded; InputError (no benign validation window,
/// one class only); Failure (loss not finite, disk).
GatStageResult train_gat(const GatStageOptions& options);

}  // namespace plimsoll

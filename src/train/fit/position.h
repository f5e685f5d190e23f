#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "store/safetensors.h"

namespace plimsoll {

/// One epoch of training, as it goes to metrics.csv.
struct EpochMetrics {
  int64_t epoch = 0;
  double training_loss = 0;
  double validation_loss = 0;
  double gradient_norm = 0;  ///< mean over the steps, before clipping
  double seconds = 0;
  double learning_rate = 0;  ///< of the last step
};

/// Where a run stands between two steps.
struct Position {
  int64_t epoch = 1;
  int64_t step = 0;          ///< of the epoch, done
  EpochMetrics so_far = {};  ///< sums over the steps of the epoch that are done
  int64_t best_epoch = 0;    ///< 0: none yet
  double best_loss = std::numeric_limits<double>::infinity();
  std::vector<EpochMetrics> epochs = {};  ///< that are done
};

/// A position, and the steps that the optimizer has done, as text for metadata "plimsoll.position".
std::string position_text(const Position& position, int64_t optimizer_steps);

struct ReadPosition {
  Position position;
  int64_t optimizer_steps;
};

/// From a file's metadata "plimsoll.position". Errors: InputError that names the file and what is missing, of
/// another type, or impossible.
ReadPosition read_position(const SafetensorsView& file);
/// From position_text().
ReadPosition read_position(const std::string& text);

}  // namespace plimsoll

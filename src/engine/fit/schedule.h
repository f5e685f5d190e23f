#pragma once

#include <cstdint>
#include <span>

#include "config/recipe.h"
#include "engine/fit/position.h"

namespace plimsoll {

/// The learning rate of each step, from the epochs that are done: nothing else has to be kept, so that a run
/// that is resumed goes on with the same rates.
///
/// In the first `warm_up_epochs` it rises in a line from 0. After these, with e whole epochs done and the
/// learning rate lr of the recipe (or of a model's section):
///
/// constant: lr. step: lr factor^(e / schedule_epochs), rounded down (torch's StepLR). cosine: lr (1 + cos(pi
/// e / E)) / 2 over the E epochs after warm-up (CosineAnnealingLR). plateau: lr, multiplied by the factor
/// after each more than `schedule_epochs` epochs in a row whose validation loss was not below the best by a
/// ten-thousandth (ReduceLROnPlateau).
class Schedule {
 public:
  /// Errors: UsageError for a word it does not know.
  explicit Schedule(const Recipe::Training& training);

  /// `done`: the metrics of the epochs that are done. `progress`: the share of the next one that will be done
  /// with the step, above 0.
  double rate(std::span<const EpochMetrics> done, double progress) const;

 private:
  double factor(std::span<const EpochMetrics> after_warm_up) const;

  const Recipe::Training& training_;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>

#include "config/recipe.h"
#include "engine/fit/position.h"

namespace plimsoll {

/// The learning rate of each step, computed from the completed epochs. It has no other state, so a resumed
/// run continues with the same rates.
///
/// In the first `warm_up_epochs` epochs the rate rises linearly from 0. Later, with e epochs completed after
/// the warm-up and the learning rate lr of the recipe (or of a model's section):
///
/// constant: lr. step: lr factor^(e / schedule_epochs), with the exponent rounded down (torch's StepLR).
/// cosine: lr (1 + cos(pi e / E)) / 2 over the E epochs after warm-up (CosineAnnealingLR). plateau: lr,
/// multiplied by the factor after each sequence of more than `schedule_epochs` epochs without an
/// improvement of the best validation loss by more than a ten-thousandth of it (ReduceLROnPlateau).
class Schedule {
 public:
  /// `training` must outlive the object.
  explicit Schedule(const TrainingSection& training);

  /// Returns the rate of a step. `done` has the metrics of the completed epochs. `progress` is the share of
  /// the current epoch that will be completed after the step, above 0.
  double rate(std::span<const EpochMetrics> done, double progress) const;

 private:
  double factor(std::span<const EpochMetrics> after_warm_up) const;

  const TrainingSection& training_;
};

}  // namespace plimsoll

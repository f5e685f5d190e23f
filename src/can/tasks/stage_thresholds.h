#pragma once

#include <span>

#include "can/tasks/detector_file.h"
#include "engine/data/split.h"
#include "engine/fit/fit.h"

namespace plimsoll {

/// Takes a detector's thresholds from the benign graphs of validation; those of a GAT trained with ID dropout
/// from these graphs as they are and as if all their IDs were unknown, the higher level of
/// both. Errors: InputError when there is none;
/// BudgetTooSmall.
void set_thresholds(Detector& detector, const BlockSource& source, std::span<const GraphShape> shapes,
                    const Recipe& recipe, const TrainingSplit& split, const RunOptions& run);

/// Of how many benign validation windows at most a detector's further levels are learned, and the bytes that
/// one takes meanwhile.
struct FurtherLevels {
  static constexpr int64_t kMaxWindows = 8192;
  static constexpr int64_t kWindowBytes = 72;
};

/// What thresholds take of the ledger beside a slab and weights, and further levels after them:
/// FitOptions::afterwards.
int64_t bytes_of_thresholds(std::span<const GraphShape> shapes, const Recipe& recipe,
                            const TrainingSplit& split);

}  // namespace plimsoll

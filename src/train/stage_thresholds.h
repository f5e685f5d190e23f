#pragma once

#include <span>

#include "train/detector_file.h"
#include "train/fit.h"
#include "train/split.h"

namespace plimsoll {

/// Takes a detector's thresholds from the benign graphs of validation. Errors: InputError when there is none;
/// BudgetTooSmall.
void set_thresholds(Detector& detector, const BlockSource& source, std::span<const GraphShape> shapes,
                    const Recipe& recipe, const TrainingSplit& split, const RunOptions& run);

}  // namespace plimsoll

#pragma once

#include <span>

#include "can/tasks/detector_file.h"
#include "engine/data/split.h"
#include "engine/fit/fit.h"

namespace plimsoll {

/// Sets the thresholds of detector.facts from the benign validation graphs. For a GAT trained with ID dropout
/// it scores these graphs as they are and as if all their IDs were unknown, and uses the higher level. All
/// ranks make the same call. Errors: InputError if no validation graph is benign; those of Scorer.
void set_thresholds(Detector& detector, const BlockSource& source, std::span<const GraphShape> shapes,
                    const Recipe& recipe, const TrainingSplit& split, const RunOptions& run);

/// Maximum number of benign validation windows from which a detector's further levels are learned, and the
/// bytes that each of these windows needs in the meantime.
struct FurtherLevels {
  static constexpr int64_t kMaxWindows = 8192;
  static constexpr int64_t kWindowBytes = 72;
};

/// Bytes that thresholds need in the ledger in addition to a slab and weights, and that further levels need
/// after them: FitOptions::afterwards.
int64_t bytes_of_thresholds(std::span<const GraphShape> shapes, const Recipe& recipe,
                            const TrainingSplit& split);

}  // namespace plimsoll

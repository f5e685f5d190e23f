#pragma once

#include <vector>

#include "engine/data/split.h"
#include "sample/block/batches.h"

namespace plimsoll {

/// Mean and standard deviation of each target over the graphs, or the nodes, that train: a model learns
/// targets in these units. The deviation of one that is the same everywhere is taken for 1.
struct TargetScale {
  std::vector<float> mean;
  std::vector<float> deviation;
};

/// Of a source whose widths have targets. Unknown targets are left out; sums are taken in double precision
/// and in the order of the list (Welford, Technometrics 1962), so that the result is the same on every
/// machine. Errors: InputError for a target that is infinite, for a graph that trains or validates without
/// one, and where no node that trains has one.
TargetScale target_scale(const BlockSource& source, const TrainingSplit& split);

}  // namespace plimsoll

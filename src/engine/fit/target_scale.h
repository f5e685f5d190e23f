#pragma once

#include <vector>

#include "engine/data/split.h"
#include "sample/block/batches.h"
#include "store/graph.h"

namespace plimsoll {

/// Mean and standard deviation of each target over the training graphs or nodes. A model learns
/// (target - mean) / deviation. The deviation of a constant target is set to 1.
struct TargetScale {
  std::vector<float> mean;
  std::vector<float> deviation;
};

/// Computes the scale for a source that has targets. Unknown targets are left out. Sums are computed in
/// double precision and in the order of the training list (Welford, Technometrics 1962), so that the result
/// is the same on every machine. Errors: InputError for an infinite target, for a training or validation
/// graph without a target, and if no training or no validation node has one; Interrupted; those of
/// BlockSource::read().
TargetScale target_scale(const BlockSource& source, const TrainingSplit& split);
/// Computes the scale over `nodes` of one giant graph whose nodes have numbers to predict. Errors:
/// Interrupted; InputError for an infinite number, and if none of the nodes has a known number.
TargetScale target_scale(const GraphView& graph, std::span<const int64_t> nodes);

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sample/block/batches.h"
#include "sample/block/block.h"
#include "store/graph.h"

namespace plimsoll {

/// Mean and standard deviation of each feature of nodes. The deviation of a constant feature is 0.
struct FeatureScale {
  std::vector<float> mean;
  std::vector<float> deviation;
};

/// Computes the scale over all nodes of some graphs. Sums are computed in double precision, in the order of
/// the list (Welford, Technometrics 1962), so that the result does not depend on budget and threads.
/// Errors: those of BlockSource::read(), Interrupted.
FeatureScale feature_scale(const BlockSource& source, std::span<const int64_t> graphs);
/// Does the same for nodes of one giant graph. Errors: Interrupted.
FeatureScale feature_scale(const GraphView& graph, std::span<const int64_t> nodes);
/// Does the same for all nodes of one giant graph.
FeatureScale feature_scale(const GraphView& graph);

/// Returns a sentence about the features that vary most and least, if one varies more than 1,000 times as
/// much as the other; otherwise an empty text. Features before `first` and constant features are ignored.
/// `names` may be empty.
std::string unequal_scales(const FeatureScale& scale, size_t first, const std::vector<std::string>& names);

}  // namespace plimsoll

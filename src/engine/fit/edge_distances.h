#pragma once

#include <optional>

#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// The smallest distance that at least `share` of the edges of these graphs do not exceed, self-loops left
/// out: a percentile by nearest rank. It is one of the distances, so that it is the same whatever the order
/// and whoever computes it: found in two readings by counting, in 512 KiB. A distance is Euclidean, computed
/// in double and rounded to float. Of a source that has positions. None: there is no edge.
std::optional<float> distance_percentile(const BlockSource& source, const GraphList& graphs, double share);

}  // namespace plimsoll

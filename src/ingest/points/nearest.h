#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"

namespace plimsoll {

/// Replaces `edges` with the edges of a k-nearest-neighbour graph of the points `pos` [n, 3]: [n * k, 2],
/// source and target. Coordinates must be finite, and n at most 2^31 - 1. Each point has edges from its k
/// nearest other points, or from all others if there are fewer than k. The nearest is first; among points at
/// the same distance, the lower index is first. Distances are Euclidean, computed in double. Needs 89 bytes
/// per point in addition to the edges. Errors: BudgetExceeded, Interrupted.
void nearest_neighbours(std::span<const float> pos, int64_t k, Vector<int32_t, Tag::ingest>& edges);

}  // namespace plimsoll

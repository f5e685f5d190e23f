#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"

namespace plimsoll {

/// The edges of a k-nearest-neighbour graph of the points `pos` [n, 3]: replaces `edges` by [n * k, 2],
/// source and target. Into each point, in order, edges from its k nearest others, nearest first, of equal
/// distance those of lower index first; from all others where there are fewer. Distances are Euclidean, of
/// coordinates widened to double. Memory: 89 bytes a point beside the edges. Errors: BudgetExceeded,
/// Interrupted.
void nearest_neighbours(std::span<const float> pos, int64_t k, Vector<int32_t, Tag::ingest>& edges);

}  // namespace plimsoll

#pragma once

#include <optional>

#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Returns the smallest distance that at least `share` of the edges of these graphs, without self-loops, do
/// not exceed: a percentile by nearest rank. The result is one of the distances, and does not depend on the
/// order of the edges. It is found by counting in two passes, with 512 KiB of memory (Tag::columns). A
/// distance is Euclidean, computed in double precision and rounded to float. `share` is in (0, 1]. The source
/// must have positions. Returns nullopt if there is no edge. Errors: those of BlockSource::read();
/// Interrupted, BudgetExceeded.
std::optional<float> distance_percentile(const BlockSource& source, const GraphList& graphs, double share);

}  // namespace plimsoll

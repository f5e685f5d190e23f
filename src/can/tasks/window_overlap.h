#pragma once

#include <cstdint>

#include "run/training_data.h"

namespace plimsoll {

/// Returns the overlap of windows that start every `stride`. Both lengths are in the same unit, and above 0.
Overlap overlap_of_windows(int64_t window, int64_t stride);
/// Returns the overlap of a graph_set made by `plimsoll windows`, from the options in its manifest; none for
/// other sets.
Overlap overlap_of_windows(const DataSetView& set);

}  // namespace plimsoll

#pragma once

#include <vector>

#include "base/json.h"
#include "can/frames/frames.h"

namespace plimsoll {

/// Adds `truncated_at` of --json: the byte at which each capture is cut off, by its source; adds nothing if
/// none is.
void add_truncated(const std::vector<Recording>& recordings, Json& json);

}  // namespace plimsoll

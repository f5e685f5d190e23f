#pragma once

#include <vector>

#include "base/json.h"
#include "can/frames/frames.h"

namespace plimsoll {

/// `truncated_at` of --json: the byte at which each capture is cut off, by its source; nothing where none is.
void add_truncated(const std::vector<Recording>& recordings, Json& json);

}  // namespace plimsoll

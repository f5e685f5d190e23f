#pragma once

#include <vector>

#include "base/json.h"
#include "can/frames/frames.h"

namespace plimsoll {

/// Adds the field `truncated_at` of --json: by source, the byte at which a capture is cut off. Adds nothing
/// if no capture is.
void add_truncated(const std::vector<Recording>& recordings, Json& json);

}  // namespace plimsoll

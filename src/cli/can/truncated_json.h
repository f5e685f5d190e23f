#pragma once

#include <vector>

#include "base/json.h"
#include "can/frames/frames.h"

namespace plimsoll {

/// Adds the field `truncated_at` of --json: an object with the byte at which each truncated source ends. Adds
/// nothing if no source is truncated.
void add_truncated(const std::vector<Recording>& recordings, Json& json);

}  // namespace plimsoll

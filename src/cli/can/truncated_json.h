#pragma once

#include <vector>

#include "base/json.h"
#include "can/frames/frames.h"

namespace plimsoll {

/// Adds the field `truncated_at` of --json: for each truncated source, the byte at which it ends. Adds
/// nothing if no source is truncated.
void add_truncated(const std::vector<Recording>& recordings, Json& json);

}  // namespace plimsoll

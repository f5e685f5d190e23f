#pragma once

#include <string>

#include "base/json.h"
#include "can/dbc/dbc.h"
#include "can/frames/frames.h"

namespace plimsoll {

/// A table of the parameter groups of the 29-bit IDs of these frames by SAE J1939: numbers, frames,
/// priorities, addresses, and names from the DBC or the standard. The most frequent groups come first; the
/// others are only counted.
std::string group_table(const FrameSpans& frames, const Dbc& dbc);
/// The table as JSON, with every group: [{"pgn", "name", "frames", "priorities", "sources", "destinations"}].
/// A group that is sent to all addresses has no destinations.
Json groups_json(const FrameSpans& frames, const Dbc& dbc);

}  // namespace plimsoll

#pragma once

#include <string>

#include "detect/dbc.h"
#include "store/frames.h"

namespace plimsoll {

/// The parameter groups of the 29-bit IDs of these frames by SAE J1939, as a table: numbers, frames,
/// priorities, addresses, and names where the DBC has them. Groups that are sent most come first; of many the
/// rest is counted.
std::string group_table(const FrameSpans& frames, const Dbc& dbc);

}  // namespace plimsoll

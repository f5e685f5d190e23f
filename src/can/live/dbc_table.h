#pragma once

#include <string>

#include "base/json.h"
#include "can/dbc/dbc.h"
#include "can/frames/frames.h"

namespace plimsoll {

/// Tables that describe these frames by a DBC: the messages among them, their signals with minimum and
/// maximum values, and the IDs that the DBC does not define. The most frequent messages come first.
std::string dbc_table(const FrameSpans& frames, const Dbc& dbc);
/// The same as JSON (docs/command-line.md, inspect).
Json dbc_json(const FrameSpans& frames, const Dbc& dbc);

}  // namespace plimsoll

#pragma once

#include <string>

#include "base/json.h"
#include "can/dbc/dbc.h"
#include "can/frames/frames.h"

namespace plimsoll {

/// What a DBC says of these frames, as tables: its messages among them, their signals with the least and the
/// most that they were, and the IDs that it does not know. Messages that are sent most come first.
std::string dbc_table(const FrameSpans& frames, const Dbc& dbc);
/// The same as JSON (docs/command-line.md, inspect).
Json dbc_json(const FrameSpans& frames, const Dbc& dbc);

}  // namespace plimsoll

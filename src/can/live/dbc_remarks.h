#pragma once

#include <string>

#include "base/json.h"
#include "can/dbc/dbc.h"

namespace plimsoll {

/// Reads a DBC and prints its remarks to stderr: the first ones, and their total number. Errors: those of
/// read_dbc().
Dbc read_dbc_with_remarks(const std::string& path);

/// Remarks as `{"count": 2, "lines": [{"line": 6, "found": ..., "expected": ..., "done": "left out"}, ...]}`,
/// with at most DbcRemarks::kMaxKept lines.
Json remarks_json(const Dbc& dbc);

}  // namespace plimsoll

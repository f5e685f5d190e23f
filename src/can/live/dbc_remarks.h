#pragma once

#include <string>

#include "base/json.h"
#include "can/dbc/dbc.h"

namespace plimsoll {

/// Reads a DBC and prints its remarks to stderr: the first ones, and how many there are. Errors:
/// read_dbc()'s.
Dbc read_dbc_with_remarks(const std::string& path);

/// `{"count": 2, "lines": [{"line": 6, "found": ..., "expected": ..., "done": "left out"}, ...]}`, of the
/// lines at most DbcRemarks::kMaxKept.
Json remarks_json(const Dbc& dbc);

}  // namespace plimsoll

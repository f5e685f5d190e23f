#pragma once

#include "base/json.h"
#include "memory/charge.h"
#include "store/graph_set.h"

namespace plimsoll {

/// Parses `splits`, `recordings`, `features`, `channels` and `vocabulary` of a `graph_set` manifest. `charge`
/// holds the memory of the ranges. Errors: UsageError if one is missing or invalid (`channels` may be
/// missing), BudgetExceeded.
GraphSetTables tables_of_manifest(const Json& manifest, Charge& charge);

}  // namespace plimsoll

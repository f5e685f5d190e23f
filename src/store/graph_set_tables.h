#pragma once

#include "base/json.h"
#include "memory/charge.h"
#include "store/graph_set.h"

namespace plimsoll {

/// `splits`, `recordings`, `features` and `vocabulary` of the manifest of a `graph_set`; `charge` holds what
/// the ranges take. Errors: UsageError where one is missing or is not what it should be.
GraphSetTables tables_of_manifest(const Json& manifest, Charge& charge);

}  // namespace plimsoll

#pragma once

#include "base/json.h"
#include "engine/plan/memory_plan.h"
#include "memory/tape_profile.h"

namespace plimsoll {

/// Which modules hold what in a plan's worst block, from its tape; without modules where no tape says it, as
/// where what is allocated depends on the data.
TapeProfile memory_by_module(const MemoryPlan::Block& worst);

/// {"peak_bytes", "operation", "modules": [{"module", "bytes"}], "timeline": {"events", "at", "modules",
/// "bytes"}}
Json memory_by_module_json(const TapeProfile& profile);

/// The same back. What is missing or of another type leaves it without modules.
TapeProfile memory_by_module_from(const Json& json);

/// As memory_snapshot() has it, at the places of the block's range. Errors: UsageError where no tape says it.
Json snapshot_of(const MemoryPlan::Block& worst);

}  // namespace plimsoll

#pragma once

#include "base/json.h"
#include "engine/plan/memory_plan.h"
#include "memory/tape_profile.h"

namespace plimsoll {

/// Returns the memory of each module in a plan's worst block, from its tape. There are no modules if no tape
/// describes the block, because its allocations depend on the data.
TapeProfile memory_by_module(const MemoryPlan::Block& worst);

/// Returns {"peak_bytes", "operation", "modules": [{"module", "bytes"}], "timeline": {"events", "at",
/// "modules", "bytes"}}.
Json memory_by_module_json(const TapeProfile& profile);

/// Reads memory_by_module_json(). If a field is missing or of another type, the profile has no modules.
TapeProfile memory_by_module_from(const Json& json);

/// Returns the block in the form of memory_snapshot(), with its tensors at their positions in its range.
/// Errors: UsageError if no tape describes the block.
Json snapshot_of(const MemoryPlan::Block& worst);

}  // namespace plimsoll

#pragma once

#include "engine/plan/memory_plan.h"
#include "io/disk_speed.h"

namespace plimsoll {

/// Prints what memory buys for one giant graph: seconds per epoch with parts of it in memory, on a disk of
/// this speed. These are estimates: bytes come from a model, and disk and processors are assumed to work at
/// the same time.
void print_reading(const MemoryPlan& plan, const DiskSpeed& disk);
Json reading_plan_json(const MemoryPlan& plan, const DiskSpeed& disk);

}  // namespace plimsoll

#pragma once

#include "engine/plan/memory_plan.h"
#include "io/disk_speed.h"

namespace plimsoll {

/// What memory buys of one giant graph: seconds an epoch with parts of it in memory, on a disk of this speed.
/// Estimated: bytes are those of a model, and a disk and processors work at the same time.
void print_reading(const MemoryPlan& plan, const DiskSpeed& disk);
Json reading_plan_json(const MemoryPlan& plan, const DiskSpeed& disk);

}  // namespace plimsoll

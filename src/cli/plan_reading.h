#pragma once

#include "engine/plan/memory_plan.h"
#include "io/disk_speed.h"

namespace plimsoll {

/// Prints the estimated seconds per epoch on one giant graph, by the share of the graph that is in memory,
/// for a disk of this speed, and the time of the whole run if it is known. A model computes the bytes; disk
/// and processors are assumed to work in parallel. Unknown seconds are shown as "-".
void print_reading(const MemoryPlan& plan, const DiskSpeed& disk);
/// Returns the same estimates as a JSON object; unknown ones are null.
Json reading_plan_json(const MemoryPlan& plan, const DiskSpeed& disk);

}  // namespace plimsoll

#pragma once

#include "engine/plan/memory_plan.h"
#include "io/disk_speed.h"

namespace plimsoll {

/// Prints the estimated seconds per epoch on one giant graph, by the share of the graph that is in memory,
/// for a disk of this speed. A model computes the bytes; disk and processors are assumed to work in parallel.
void print_reading(const MemoryPlan& plan, const DiskSpeed& disk);
Json reading_plan_json(const MemoryPlan& plan, const DiskSpeed& disk);

}  // namespace plimsoll

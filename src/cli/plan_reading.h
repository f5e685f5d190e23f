#pragma once

#include "engine/plan/memory_plan.h"
#include "io/disk_speed.h"

namespace plimsoll {

/// Prints the seconds per epoch of one giant graph, by the share of it that is in memory, for a disk of this
/// speed. These are estimates: a model computes the bytes, and disk and processors are assumed to work in
/// parallel.
void print_reading(const MemoryPlan& plan, const DiskSpeed& disk);
Json reading_plan_json(const MemoryPlan& plan, const DiskSpeed& disk);

}  // namespace plimsoll

#pragma once

#include <optional>
#include <vector>

#include "config/sections/block.h"
#include "engine/plan/device_plan.h"
#include "run/run_request.h"

namespace plimsoll {

/// Limits of blocks, and what a run with them needs on a GPU: the plan of the stage that needs most.
struct PlannedBlocks {
  BlockSection block;
  DevicePlan plan;
};

/// Plans a run for a GPU with the limits of its recipe, and with limits that are doubled again and again:
/// until blocks no longer grow, because one holds a whole batch, or until the smallest budget exceeds
/// `max_bytes`; at most 12 times. Limits of blocks affect the result, so this changes no recipe. `request`
/// names a GPU by `device_budget`; nothing is run. Errors: those of plan_within().
std::vector<PlannedBlocks> plan_block_sizes(const RunRequest& request, int64_t max_bytes);

/// Plans the same run with training.block.preset: gpu; nullopt if the recipe has this preset or its limits.
std::optional<PlannedBlocks> plan_gpu_preset(const RunRequest& request);

}  // namespace plimsoll

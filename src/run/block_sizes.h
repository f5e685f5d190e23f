#pragma once

#include <optional>
#include <vector>

#include "config/sections/block.h"
#include "engine/plan/device_plan.h"
#include "run/run_request.h"

namespace plimsoll {

/// Block limits, and the plan of the stage that needs the largest budget on a GPU with these limits.
struct PlannedBlocks {
  BlockSection block;
  DevicePlan plan;
};

/// Plans a run for a GPU with the block limits of its recipe, then repeatedly with doubled limits. Stops when
/// blocks no longer grow because one block holds a whole batch, when the smallest budget exceeds `max_bytes`,
/// or after 12 doublings. Block limits affect the result, so the recipe is not changed.
/// `request.device_budget` describes the GPU; nothing is run. Errors: those of plan_within().
std::vector<PlannedBlocks> plan_block_sizes(const RunRequest& request, int64_t max_bytes);

/// Plans the run with training.block.preset: gpu. Returns nullopt if the recipe already has this preset or
/// its limits.
std::optional<PlannedBlocks> plan_gpu_preset(const RunRequest& request);

}  // namespace plimsoll

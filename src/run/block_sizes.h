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

/// Plans a run for a GPU with the block limits of its recipe, then with 2, 4, 8, ... up to 2^12 times these
/// limits, and returns these plans. Stops before the first limits with which blocks are no larger, because
/// one block already holds a whole batch, or with which the smallest budget exceeds `max_bytes`; the recipe's
/// own limits are always returned. Block limits affect the result, so the recipe is not changed.
/// `request.device_budget` must be set: it describes the GPU. Nothing is run. Errors: those of plan_within().
std::vector<PlannedBlocks> plan_block_sizes(const RunRequest& request, int64_t max_bytes);

/// Plans the run with training.block.preset: gpu. Returns nullopt if the recipe's limits of graphs, nodes and
/// edges are already those of the preset. `request.device_budget` must be set. Errors: those of
/// plan_within().
std::optional<PlannedBlocks> plan_gpu_preset(const RunRequest& request);

}  // namespace plimsoll

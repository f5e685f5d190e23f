#include "run/block_sizes.h"

#include <algorithm>
#include <tuple>

#include "run/plan_run.h"

namespace plimsoll {
namespace {

PlannedBlocks planned(RunRequest request, const BlockSection& block) {
  request.recipe.training.block = block;
  const StagePlans plans = plan_within(request);
  const auto largest =
      std::ranges::max_element(plans, {}, [](const auto& plan) { return plan.second.device->min_budget; });
  return {block, *largest->second.device};
}

BlockSection doubled(BlockSection block) {
  for (int64_t* limit : {&block.graphs, &block.nodes, &block.edges, &block.seeds}) *limit *= 2;
  return block;
}

}  // namespace

std::vector<PlannedBlocks> plan_block_sizes(const RunRequest& request, int64_t max_bytes) {
  constexpr size_t kMaxSizes = 13;
  std::vector<PlannedBlocks> sizes = {planned(request, request.recipe.training.block)};
  while (sizes.size() < kMaxSizes) {
    PlannedBlocks larger = planned(request, doubled(sizes.back().block));
    if (larger.plan.range <= sizes.back().plan.range || larger.plan.min_budget > max_bytes) break;
    sizes.push_back(std::move(larger));
  }
  return sizes;
}

std::optional<PlannedBlocks> plan_gpu_preset(const RunRequest& request) {
  BlockSection preset = request.recipe.training.block;
  const auto limits = [](const BlockSection& block) {
    return std::tie(block.graphs, block.nodes, block.edges);
  };
  apply_preset(preset, BlockPreset::gpu);
  if (limits(preset) == limits(request.recipe.training.block)) return std::nullopt;
  return planned(request, preset);
}

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sample/block/block.h"

namespace plimsoll {

struct PlanInput;
struct PlannedDevice;
class BlockPlan;

/// What a run needs of the memory of a CUDA device, and how many blocks are in flight there. All bytes.
struct DevicePlan {
  int64_t budget = 0;
  bool feasible = false;
  bool exact = true;  ///< else a range is what the largest block needed when it ran, and a little more
  std::string why_inexact;
  int blocks = 0;          ///< in flight, one a stream
  bool recompute = false;  ///< layers run again in backward
  int64_t range = 0;       ///< of a stream: enough for any block
  int64_t rows = 0;        ///< of features of a giant graph that stay there, with what is left of the budget
  int64_t feature_bytes = 0;  ///< that these take
  int64_t lane = 0;           ///< of a stream, where rows stay: its range, and some for blocks that need more
  int64_t staging = 0;        ///< pinned memory of the host, of all streams; not of the budget
  int64_t peak = 0;           ///< of the budget, with `blocks` in flight, one at least
  int64_t min_budget = 0;     ///< with one block in flight, its layers run again if that needs less

  BlockSize worst;                                     ///< the block with the largest range
  int64_t worst_bytes = 0;                             ///< tensors asked for at once
  std::string operation;                               ///< at that peak
  std::vector<std::pair<std::string, int64_t>> parts;  ///< of peak; their sum is peak

  /// The least budget for each number of blocks in flight, 1 first.
  std::vector<int64_t> budget_for;
  /// Where a block's tensors go in its range.
  std::shared_ptr<const BlockPlan> training, prediction;
  /// Operators that have no kernel for CUDA, which are planned as they ask on the CPU.
  std::vector<std::string> without_cuda;
};

/// Plans a run for a device. Without PlannedDevice::blocks no device is needed, and nothing is run: the
/// objective's parameters must have no data (MetaParameters), and what torch's own operators take of a device
/// for themselves is planned as they ask on the CPU. Errors: as tape_without_data(), or as a block's.
DevicePlan plan_device(const PlanInput& input, const PlannedDevice& device);

/// Errors: BudgetTooSmall, which names the smallest device budget, unless the plan is feasible.
void require_feasible(const DevicePlan& plan);

}  // namespace plimsoll

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

/// The memory that a run needs on a CUDA device, and how many blocks are in flight there. All sizes are in
/// bytes.
struct DevicePlan {
  int64_t budget = 0;
  bool feasible = false;
  bool exact = true;  ///< If false, a range has the size that the largest block needed when it ran, plus a
                      ///< margin.
  std::string why_inexact;  ///< The reason why `exact` is false; otherwise empty.
  int blocks = 0;           ///< Number of blocks in flight; each has a stream.
  bool recompute = false;   ///< Whether layers are recomputed in the backward pass.
  int64_t range = 0;        ///< Bytes of a stream's range, which are sufficient for any block.
  /// Number of feature rows of a giant graph that stay on the device, in the rest of the budget.
  int64_t rows = 0;
  int64_t feature_bytes = 0;  ///< Bytes of these rows.
  int64_t lane = 0;  ///< Bytes of a stream's lane if rows stay on the device: its range, and spare bytes for
                     ///< larger blocks.
  int64_t staging = 0;  ///< Pinned bytes on the host for all streams; not part of the budget.
  int64_t peak = 0;     ///< Bytes of the budget that are used with max(blocks, 1) blocks in flight.
  /// Minimum budget: one block in flight, with layers recomputed if that needs less memory.
  int64_t min_budget = 0;

  BlockSize worst;          ///< The block with the largest range.
  int64_t worst_bytes = 0;  ///< Maximum bytes that the tensors of this block request at a time.
  std::string operation;    ///< The operation at that maximum.
  std::vector<std::pair<std::string, int64_t>> parts;  ///< `peak` by purpose; the entries sum to `peak`.

  /// The minimum budget for each number of blocks in flight, starting with 1.
  std::vector<int64_t> budget_for;
  /// Decide the positions of a block's tensors in its range; null if their plan is not exact.
  std::shared_ptr<const BlockPlan> training, prediction;
  /// Operators without a CUDA kernel, whose memory is planned as on the CPU.
  std::vector<std::string> without_cuda;
};

/// Plans a run for a device. If PlannedDevice::blocks is not set, no device is needed and nothing is run: the
/// objective's parameters must have no data (MetaParameters), and the workspaces of torch's own operators are
/// planned as on the CPU. Errors: without a device, those of tape_without_data(); with one, DeviceRegionFull
/// if not even probes fit, UsageError for an operator without a CUDA kernel, and those of running a block.
DevicePlan plan_device(const PlanInput& input, const PlannedDevice& device);

/// Throws BudgetTooSmall, which names the smallest device budget, unless the plan is feasible.
void require_feasible(const DevicePlan& plan);

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "engine/blocks/device_blocks.h"
#include "engine/blocks/training_device.h"
#include "engine/plan/device_plan.h"
#include "engine/plan/plan_input.h"

namespace plimsoll {

/// The device memory that a run used. All sizes are in bytes.
struct DeviceUse {
  std::string name;
  int64_t budget = 0;
  int64_t planned = 0;   ///< Planned bytes: context, workspaces, parameters, feature rows, ranges.
  int64_t measured = 0;  ///< Same as `planned`, but with the highest use of each range instead of its size.
  int64_t region = 0;    ///< Bytes of the region, whether used or not.
  /// Bytes that NVML reports for the process, which include the whole region.
  std::optional<int64_t> process = {};
  int lanes = 0;
  int64_t range = 0;
  int64_t highest_range = 0;
  int64_t rows = 0;           ///< Number of feature rows on the device.
  int64_t feature_bytes = 0;  ///< Bytes of these rows.
  int64_t reruns = 0;         ///< Number of blocks that ran again with the ranges of all lanes.
  bool recompute = false;
  std::string why_inexact = {};
  int64_t min_budget = 0;
};
Json device_json(const DeviceUse& use);
/// Describes `use` in one line.
std::string device_in_words(const DeviceUse& use);

/// Runs the blocks of a run on a device, by its plan. Not thread-safe.
class DeviceRun {
 public:
  /// `models` has the parameters to copy to the device: first the objective's, then those of a live teacher,
  /// if there is one. They and `device` must outlive the object. `max_streams` is the maximum number of
  /// blocks in flight. Errors: DeviceRegionFull if not even the parameters fit; BudgetExceeded.
  DeviceRun(TrainingDevice& device, const std::vector<const ParameterList*>& models,
            int max_streams = PlannedDevice::kMaxStreams);

  /// Makes one lane of all free memory for probes, and returns the device to plan for.
  PlannedDevice planned();
  /// Makes the lanes of the plan, and returns how blocks run according to it. `host` is the execution planned
  /// for the host. The result refers to this object, which must outlive its use. Errors: BudgetTooSmall;
  /// DeviceRegionFull.
  ExecutionPlan execution(const DevicePlan& plan, ExecutionPlan host);
  /// Copies the planned feature rows to the device, or none if memory is refused. Call it after execution().
  /// Errors: those of FeatureRows::leave_out().
  void keep_rows(const DevicePlan& plan, const BlockSource& source);
  DeviceUse use(const DevicePlan& plan) const;
  /// Returns what the driver's monitor reports now; nullopt if there is none.
  std::optional<GpuMonitor::Reading> reading() const { return device_.reading(); }

 private:
  TrainingDevice& device_;
  const int max_streams_;
  DeviceBlocks blocks_;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "engine/blocks/device_blocks.h"
#include "engine/blocks/training_device.h"
#include "engine/plan/device_plan.h"
#include "engine/plan/plan_input.h"

namespace plimsoll {

/// What a run took of a device. All bytes.
struct DeviceUse {
  std::string name;
  int64_t budget = 0;
  int64_t planned = 0;                  ///< context, workspaces, parameters, rows of features, ranges
  int64_t measured = 0;                 ///< the same, with the most of the ranges that blocks had in use
  int64_t region = 0;                   ///< that is taken, whatever is used of it
  std::optional<int64_t> process = {};  ///< what NVML says that the process holds, the whole region among it
  int lanes = 0;
  int64_t range = 0;
  int64_t highest_range = 0;
  int64_t rows = 0;           ///< of features that are there
  int64_t feature_bytes = 0;  ///< that these take
  int64_t reruns = 0;         ///< blocks that ran again with the ranges of all lanes
  bool recompute = false;
  std::string why_inexact = {};
  int64_t min_budget = 0;
};
Json device_json(const DeviceUse& use);
/// One line.
std::string device_in_words(const DeviceUse& use);

/// Blocks of a run on a device, and the plan of them.
class DeviceRun {
 public:
  /// `models`: whose parameters are there; the blocks' own first. `max_streams`: blocks in flight at most.
  /// Errors: DeviceRegionFull where not even the parameters fit.
  DeviceRun(TrainingDevice& device, const std::vector<const ParameterList*>& models,
            int max_streams = PlannedDevice::kMaxStreams);

  /// With all that is free for the probes.
  PlannedDevice planned();
  /// How blocks run by the plan: `host` is what the host has planned for. Errors: BudgetTooSmall.
  ExecutionPlan execution(const DevicePlan& plan, ExecutionPlan host);
  /// After that: puts the rows of features there that the plan has room for; none where memory for that is
  /// refused.
  void keep_rows(const DevicePlan& plan, const BlockSource& source);
  DeviceUse use(const DevicePlan& plan) const;

 private:
  TrainingDevice& device_;
  const int max_streams_;
  DeviceBlocks blocks_;
};

}  // namespace plimsoll

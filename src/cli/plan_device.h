#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/train_options.h"
#include "engine/blocks/training_device.h"
#include "run/plan_run.h"

namespace plimsoll {

/// The GPU for which a run is planned.
struct PlansDevice {
  std::optional<int64_t> budget = {};  ///< Budget of a static plan; absent for another plan, or for the CPU.
  /// Device to run blocks on, for --mode measured and trial; otherwise null.
  std::unique_ptr<TrainingDevice> open = {};
};
/// Errors: UsageError; DeviceBudgetExceeded; Failure.
PlansDevice device_of_plan(const PlanOptions& options, int threads);

/// Prints the memory that the stages need on a device, computed as `mode` says; on the host they need at most
/// as much as without a device. Errors: BudgetTooSmall, after printing, if the budget is too small.
void print_device_plans(const StagePlans& plans, Estimation mode, bool json);

}  // namespace plimsoll

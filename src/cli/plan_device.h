#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/train_options.h"
#include "engine/blocks/training_device.h"
#include "run/plan_run.h"

namespace plimsoll {

/// The GPU that a plan is for.
struct PlansDevice {
  std::optional<int64_t> budget = {};         ///< of a static plan; none: another plan, or the CPU
  std::unique_ptr<TrainingDevice> open = {};  ///< to run blocks on, for --mode measured and trial; null: none
};
/// Errors: UsageError; DeviceBudgetExceeded; Failure.
PlansDevice device_of_plan(const PlanOptions& options, int threads);

/// What the stages need of a device, found by `mode`; that of the host is the same as without one, at most.
/// Errors: BudgetTooSmall, after it is printed, where the budget does not do.
void print_device_plans(const StagePlans& plans, const std::string& mode, bool json);

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <optional>

#include "cli/train_options.h"
#include "task/plan_run.h"

namespace plimsoll {

/// The budget of the device that a plan is for; none: the CPU. Errors: UsageError.
std::optional<int64_t> plan_device_budget(const PlanOptions& options);

/// What the stages need of a device; that of the host is the same as without one, at most. Errors:
/// BudgetTooSmall, after it is printed, where the budget does not do.
void print_device_plans(const StagePlans& plans, bool json);

}  // namespace plimsoll

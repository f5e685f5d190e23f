#pragma once

#include "base/json.h"
#include "cli/train_options.h"
#include "train/planner.h"

namespace plimsoll {

/// Prints the plan of a run. Errors: BudgetTooSmall, after it is printed, where the budget does not do.
void run_plan(const PlanOptions& options);

/// The fields of `plan --json` (docs/command-line.md) that do not depend on the process.
Json plan_json(const MemoryPlan& plan);

}  // namespace plimsoll

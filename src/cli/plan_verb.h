#pragma once

#include "cli/train_options.h"

namespace plimsoll {

/// Prints the plan of a run. Errors: BudgetTooSmall, after it is printed, where the budget does not do.
void run_plan(const PlanOptions& options);

}  // namespace plimsoll

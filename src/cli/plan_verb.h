#pragma once

#include "base/json.h"
#include "cli/train_options.h"
#include "cli/train_stages.h"
#include "memory/ledger.h"
#include "train/fit.h"
#include "train/planner.h"

namespace plimsoll {

/// The plans of a run's stages on a data set without running anything: no model is made. Errors: as
/// plan_fit(); BudgetExceeded where not even what is known of the graphs fits.
StagePlans plan_without_data(const std::filesystem::path& data, const Recipe& recipe, RunOptions run);

/// The same for a run that cannot begin within its budget, which is not feasible then, whatever the cap of
/// the ledger: it is lifted for good. `refusal`: what began and was refused, or null.
StagePlans plan_beyond_budget(const std::filesystem::path& data, const Recipe& recipe, RunOptions run,
                              const Budget& budget, const BudgetExceeded* refusal);

/// Prints the plan of a run. Errors: BudgetTooSmall, after it is printed, where the budget does not do.
void run_plan(const PlanOptions& options);

/// The fields of `plan --json` (docs/command-line.md) that do not depend on the process.
Json plan_json(const MemoryPlan& plan);

}  // namespace plimsoll

#pragma once

#include "memory/ledger.h"
#include "task/task.h"

namespace plimsoll {

/// The plans of the stages of a run's first seed. Errors: as Task::open() and plan_stages().
StagePlans plan_run(const TrainingInput& input, const RunOptions& run);

/// The same without running anything: no model is made. Errors: BudgetExceeded where not even what is known
/// of the graphs fits.
StagePlans plan_without_data(const TrainingInput& input, RunOptions run);

/// The same for a run that cannot begin within its `budget`, in bytes, which is not feasible then, whatever
/// the cap of the ledger: it is lifted for good. `refusal`: what began and was refused, or null.
StagePlans plan_beyond_budget(const TrainingInput& input, RunOptions run, int64_t budget,
                              const BudgetExceeded* refusal);

/// The plans of a run within `budget`, in bytes, by the estimation that the recipe names: one that is not
/// feasible where it cannot begin, and the cap of the ledger is lifted for good then. Errors: as plan_run(),
/// but for BudgetExceeded.
StagePlans plan_within(const TrainingInput& input, const RunOptions& run, int64_t budget);

/// The fields of `device` there.
Json device_plan_json(const DevicePlan& plan);
/// The fields of `plan --json` (docs/command-line.md) that do not depend on the process.
Json plan_json(const MemoryPlan& plan);

}  // namespace plimsoll

#pragma once

#include "memory/ledger.h"
#include "run/task.h"

namespace plimsoll {

/// The plans of the stages of a run's first seed. Errors: as Task::open() and plan_stages().
StagePlans plan_run(const TrainingInput& input, const RunOptions& run);

/// The same without running anything: no model is made. Errors: BudgetExceeded where not even what is known
/// of the graphs fits.
StagePlans plan_without_data(const TrainingInput& input, RunOptions run);

/// The same for a run that cannot begin within its `budget`, in bytes, which is not feasible then: the cap of
/// the ledger is raised to the limits of the machine, for good. `refusal`: what began and was refused, or
/// null. Errors: `refusal`, or BudgetExceeded where there is none, if not even these limits hold what is
/// known of the graphs.
StagePlans plan_beyond_budget(const TrainingInput& input, RunOptions run, int64_t budget,
                              const BudgetExceeded* refusal);

/// The plans of a run within `budget`, in bytes, by the estimation that the recipe names: one that is not
/// feasible where it cannot begin. Errors: as plan_run(), but for BudgetExceeded, which is as in
/// plan_beyond_budget().
StagePlans plan_within(const TrainingInput& input, const RunOptions& run, int64_t budget);

/// The fields of `device` there.
Json device_plan_json(const DevicePlan& plan);
/// The fields of `plan --json` (docs/command-line.md) that do not depend on the process.
Json plan_json(const MemoryPlan& plan);

}  // namespace plimsoll

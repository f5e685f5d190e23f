#pragma once

#include <optional>

#include "memory/ledger.h"
#include "run/task.h"

namespace plimsoll {

/// Returns the plans of the stages of a run's first seed. Errors: those of Task::open() and plan_stages().
StagePlans plan_run(const RunRequest& request);

/// Plans a run without running anything; no model is made. Errors: BudgetExceeded if not even the known facts
/// about the graphs fit.
StagePlans plan_without_data(const RunRequest& request);

/// Plans a run that cannot start within its budget, so that the plans are not feasible. Raises the cap of the
/// ledger to the limits of the machine, permanently. `refusal` is the error that stopped an attempt, or null.
/// If not even these limits hold the known facts about the graphs, throws `refusal` or, if that is null,
/// BudgetExceeded.
StagePlans plan_beyond_budget(RunRequest request, const BudgetExceeded* refusal);

/// Plans a run within its budget, by the estimation that the recipe names; the plans are not feasible if the
/// run cannot start. Errors: those of plan_run(), but BudgetExceeded only as for plan_beyond_budget().
StagePlans plan_within(const RunRequest& request);

/// Returns the smallest budget with which the run can be evaluated once it is trained, in bytes; nullopt if
/// the task cannot compute it. Raises the cap of the ledger as plan_beyond_budget() does. Errors: those of
/// Task::open(); BudgetExceeded if the limits of the machine are too low to find out.
std::optional<int64_t> budget_of_evaluation(const RunRequest& request);

/// Returns the fields of `device` in plan_json().
Json device_plan_json(const DevicePlan& plan);
/// Returns the fields of `plan --json` (docs/command-line.md) that do not depend on the process.
Json plan_json(const MemoryPlan& plan);

}  // namespace plimsoll

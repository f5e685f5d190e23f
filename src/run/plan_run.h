#pragma once

#include <optional>

#include "memory/ledger.h"
#include "run/task.h"

namespace plimsoll {

/// Returns the plans of the stages of a run's first seed. Errors: those of Task::open() and plan_stages().
StagePlans plan_run(const RunRequest& request);

/// Plans a run without running anything; no model is created. Errors: those of Task::open(); BudgetExceeded
/// if even the sizes of the graphs do not fit.
StagePlans plan_without_data(const RunRequest& request);

/// Plans a run that cannot start within its budget; the plans are marked as not feasible. Raises the cap of
/// the ledger to the limits of the machine, permanently. `refusal` is the error that stopped an attempt, or
/// null. If even these limits are too low for planning, throws `refusal` or, if that is null, BudgetExceeded.
/// Errors: those of Task::open().
StagePlans plan_beyond_budget(RunRequest request, const BudgetExceeded* refusal);

/// Plans a run within its budget, with the recipe's `memory.estimation`. If the run cannot start, the plans
/// are marked as not feasible. Errors: those of plan_run(), except that BudgetExceeded is thrown only where
/// plan_beyond_budget() throws it.
StagePlans plan_within(const RunRequest& request);

/// What the evaluation of a run needs.
struct EvaluationNeeds {
  int64_t min_budget = 0;  ///< The smallest budget that works, in bytes.
  int64_t bytes_sent = 0;  ///< For one giant graph: the maximum that one of several ranks sends, in bytes.
};

/// Returns what the evaluation of the run needs once it is trained; nullopt if the task cannot compute it.
/// Raises the cap of the ledger as plan_beyond_budget() does. Errors: those of Task::open(); BudgetExceeded
/// if the limits of the machine are too low to compute it.
std::optional<EvaluationNeeds> needs_of_evaluation(const RunRequest& request);

/// Returns the bytes that a rank sends in an epoch, for all training steps and for the validation.
int64_t bytes_sent_in_epoch(const MemoryPlan& plan);
/// Returns the entry `device` of plan_json().
Json device_plan_json(const DevicePlan& plan);
/// Returns the fields of `plan --json` (docs/command-line.md) that do not depend on the process.
Json plan_json(const MemoryPlan& plan);

}  // namespace plimsoll

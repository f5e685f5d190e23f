#pragma once

#include "cli/train_options.h"
#include "task/plan_run.h"

namespace plimsoll {

/// Prints the plan of a run. Errors: BudgetTooSmall, after it is printed, where the budget does not do.
void run_plan(const PlanOptions& options);

/// The plans of the stages of a run; one that cannot begin within the budget is not feasible.
StagePlans plan_within(const Budget& budget, const TrainingInput& input, const RunOptions& run);

/// Plans a run, tries it, and prints its job for SLURM, or submits it. Errors: BudgetTooSmall; Failure where
/// sbatch does not take it.
void run_slurm(const SlurmOptions& options);

}  // namespace plimsoll

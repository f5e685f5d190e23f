#pragma once

#include "cli/train_options.h"

namespace plimsoll {

/// Prints the plan of a run. Errors: BudgetTooSmall, after it is printed, where the budget does not do.
void run_plan(const PlanOptions& options);

/// Plans a run, tries it, and prints its job for SLURM, or submits it. Errors: BudgetTooSmall; Failure where
/// sbatch does not take it.
void run_slurm(const SlurmOptions& options);

}  // namespace plimsoll

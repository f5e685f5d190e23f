#pragma once

#include "cli/train_options.h"

namespace plimsoll {

/// Prints the plan of a run. Errors: BudgetTooSmall, after printing, if the budget is too small.
void run_plan(const PlanOptions& options);

/// Plans a run, tries it, and prints its job for SLURM, or submits it. Errors: BudgetTooSmall; Failure if
/// sbatch refuses it.
void run_slurm(const SlurmOptions& options);

}  // namespace plimsoll

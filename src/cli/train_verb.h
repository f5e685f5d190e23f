#pragma once

#include "cli/train_options.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

// The work of plimsoll-train for each verb, NAME_verb.cc. `exchange` connects the ranks that share it; null:
// there are no others. Errors are described in docs/command-line.md.

/// Prints the plan of a run. Errors: BudgetTooSmall, after printing, if the budget is too small.
void run_verb(const PlanOptions& options, Exchange* exchange);
void run_verb(const TrainOptions& options, Exchange* exchange);
/// Plans a run, tries it, and prints its job for SLURM, or submits it. Errors: BudgetTooSmall; Failure if
/// sbatch refuses it.
void run_verb(const SlurmOptions& options, Exchange* exchange);
void run_verb(const EvaluateOptions& options, Exchange* exchange);
void run_verb(const PredictOptions& options, Exchange* exchange);

/// Errors: UsageError if --ranks differs from the number of started processes.
void require_started(int ranks, const Exchange* exchange);

}  // namespace plimsoll

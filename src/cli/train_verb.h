#pragma once

#include "cli/train_options.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

// What plimsoll-train does for each verb, defined in NAME_verb.cc. `exchange` connects the ranks of the run;
// null: there is only one. Errors are described in docs/command-line.md.

/// Prints the plan of a run. Errors: BudgetTooSmall, after printing, if the budget is too small.
void run_verb(const PlanOptions& options, Exchange* exchange);
void run_verb(const TrainOptions& options, Exchange* exchange);
/// Plans a run, trains it for a short time, and prints or submits its SLURM job. Errors: BudgetTooSmall;
/// Failure if sbatch refuses it.
void run_verb(const SlurmOptions& options, Exchange* exchange);
void run_verb(const EvaluateOptions& options, Exchange* exchange);
void run_verb(const PredictOptions& options, Exchange* exchange);

/// Errors: UsageError if --ranks differs from the number of started processes.
void require_started(int ranks, const Exchange* exchange);

}  // namespace plimsoll

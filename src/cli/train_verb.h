#pragma once

#include "cli/train_options.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

// These functions do the work of the verbs in plimsoll-train; NAME_verb.cc defines them. `exchange` connects
// the ranks of the run, which must all call the function; null: a single process. Of the ranks, only rank 0
// prints results. docs/command-line.md describes the errors.

/// Prints the plan of a run. Errors: BudgetTooSmall, after printing, if the budget is too small.
void run_verb(const PlanOptions& options, Exchange* exchange);
void run_verb(const TrainOptions& options, Exchange* exchange);
/// Prints or submits a SLURM job. For a recipe, plans its run first and, if it trains in one process on the
/// CPU, trains it for a short time to estimate the hours. Errors: BudgetTooSmall; Failure if sbatch refuses
/// the job or cannot be started.
void run_verb(const SlurmOptions& options, Exchange* exchange);
void run_verb(const EvaluateOptions& options, Exchange* exchange);
void run_verb(const PredictOptions& options, Exchange* exchange);

/// Throws UsageError if --ranks is more than 1 and differs from the number of started processes.
void require_started(int ranks, const Exchange* exchange);

}  // namespace plimsoll

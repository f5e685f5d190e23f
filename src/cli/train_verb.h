#pragma once

#include "cli/train_options.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

// These functions do the work of the verbs in plimsoll-train; NAME_verb.cc defines them. `exchange` connects
// the ranks of the run; null: a single process. docs/command-line.md describes the errors.

/// Prints the plan of a run. Errors: BudgetTooSmall, after printing, if the budget is too small.
void run_verb(const PlanOptions& options, Exchange* exchange);
void run_verb(const TrainOptions& options, Exchange* exchange);
/// Plans a run, trains it for a short time, and prints or submits its SLURM job. Errors: BudgetTooSmall;
/// Failure if sbatch refuses it.
void run_verb(const SlurmOptions& options, Exchange* exchange);
void run_verb(const EvaluateOptions& options, Exchange* exchange);
void run_verb(const PredictOptions& options, Exchange* exchange);

/// Throws UsageError if --ranks is more than 1 and differs from the number of started processes.
void require_started(int ranks, const Exchange* exchange);

}  // namespace plimsoll

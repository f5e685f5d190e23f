#pragma once

#include "cli/train_options.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

// The work of plimsoll-train for each verb. Errors are described in docs/command-line.md.

/// `exchange` connects the ranks of the run; null: there are no others.
void run_train(const TrainOptions& options, Exchange* exchange = nullptr);
void run_evaluate(const EvaluateOptions& options, Exchange* exchange = nullptr);
void run_predict(const PredictOptions& options, Exchange* exchange = nullptr);

/// Errors: UsageError if --ranks differs from the number of started processes.
void require_started(int ranks, const Exchange* exchange);

}  // namespace plimsoll

#pragma once

#include "cli/train_options.h"
#include "engine/blocks/exchange.h"

namespace plimsoll {

// What plimsoll-train does for the verbs; errors as in docs/command-line.md.

/// `exchange`: with the other ranks of the run; null: there are none.
void run_train(const TrainOptions& options, Exchange* exchange = nullptr);
void run_evaluate(const EvaluateOptions& options, Exchange* exchange = nullptr);
void run_predict(const PredictOptions& options, Exchange* exchange = nullptr);

/// Errors: UsageError for another number of --ranks than were started.
void require_started(int ranks, const Exchange* exchange);

}  // namespace plimsoll

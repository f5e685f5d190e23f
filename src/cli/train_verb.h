#pragma once

#include "cli/train_options.h"

namespace plimsoll {

// What plimsoll-train does for the verbs; errors as in docs/command-line.md.
void run_train(const TrainOptions& options);
void run_evaluate(const EvaluateOptions& options);
void run_predict(const PredictOptions& options);

}  // namespace plimsoll

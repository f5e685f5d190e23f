#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "memory/vector.h"
#include "run/evaluation.h"

namespace plimsoll {

/// The name of the baseline in tables, evaluation.json and reports.
inline constexpr const char* kBaseline = "lightgbm";

/// Trains LightGBM on columns of history, in a Python process outside of the budget (`python -m
/// plimsoll.baseline`), which writes its predictions to the folder `baseline` of the run. On rank 0 only; the
/// other ranks wait, and do not learn whether it failed. Errors: UsageError on rank 0 if the process cannot
/// start or fails; a process that fails has printed the reason. Interrupted.
void train_baseline(const RunEvaluation& asked);

/// Returns the baseline's predictions for the labelled seeds of a split: probabilities [seeds, outputs], one
/// row after the other, or values [seeds]. Errors: those of NpyView; InputError for a file of another size or
/// dtype; BudgetExceeded.
Vector<float, Tag::columns> baseline_predictions(const RunFolder& folder, const std::string& split,
                                                 int64_t seeds, int64_t outputs);

}  // namespace plimsoll

#pragma once

#include "task/evaluation.h"

namespace plimsoll {

/// How a run is evaluated.
struct EvaluateRequest {
  RunEvaluation asked;      ///< but for its recipe, which is that of the run
  bool verify_all = false;  ///< checksums of all columns, however large
  int64_t budget = 0;       ///< bytes; 0: none
};

/// Judges a run, and where all its splits are judged writes evaluation.json and report.html into its folder.
/// Errors: UsageError, InputError, Failure; BudgetTooSmall, which names the smallest budget that works.
Findings evaluate_run(EvaluateRequest request);

}  // namespace plimsoll

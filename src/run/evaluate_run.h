#pragma once

#include <functional>

#include "run/evaluation.h"

namespace plimsoll {

/// How a run is evaluated.
struct EvaluateRequest {
  RunEvaluation asked;      ///< but for its recipe, which is that of the run
  bool verify_all = false;  ///< checksums of all columns, however large
  int64_t budget = 0;       ///< bytes; 0: none
  /// Ends what holds the process to the budget, before a refusal is explained.
  std::function<void()> release = [] {};
};

/// Judges a run. Errors: UsageError, InputError, Failure; BudgetTooSmall, which names the smallest budget
/// that works.
Findings evaluate_run(EvaluateRequest request);

/// Writes evaluation.json and report.html into the run's folder where all its splits were judged; ranks other
/// than 0 write nothing. Returns what could not be saved, by this function or by evaluate_run().
Unsaved save_findings(const RunEvaluation& asked, const Findings& findings);

/// The smallest budget with which evaluate_run() works, in bytes; nothing is judged. Errors: likewise;
/// BudgetExceeded where the cap of the ledger does not do for what it takes to find out.
int64_t budget_to_evaluate(EvaluateRequest request);

}  // namespace plimsoll

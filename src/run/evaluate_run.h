#pragma once

#include <functional>

#include "run/evaluation.h"

namespace plimsoll {

/// A request to evaluate a run.
struct EvaluateRequest {
  RunEvaluation asked;      ///< Its recipe is ignored: that of the run is used.
  bool verify_all = false;  ///< Compare all checksums, even in a large data set.
  /// Lifts the limits that hold the process to the budget. Called when the budget is too small, before the
  /// smallest budget that works is computed.
  std::function<void()> release = [] {};
};

/// Checks the data set and evaluates a run. Errors: UsageError, InputError, Failure; BudgetTooSmall, which
/// names the smallest budget that works; those of asked.progress.
EvaluationResult evaluate_run(EvaluateRequest request);

/// Writes evaluation.json and report.html into the run's folder if all splits were evaluated; ranks other
/// than 0 write nothing. Returns the files that this function and evaluate_run() could not save.
Unsaved save_evaluation(const RunEvaluation& asked, const EvaluationResult& findings);

/// Returns the smallest budget with which evaluate_run() works, in bytes; nothing is evaluated. Errors: those
/// of evaluate_run(); BudgetExceeded if the cap of the ledger is too low to compute it.
int64_t budget_to_evaluate(EvaluateRequest request);

}  // namespace plimsoll

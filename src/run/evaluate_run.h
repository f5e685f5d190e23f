#pragma once

#include <functional>

#include "run/evaluation.h"

namespace plimsoll {

/// How a run is evaluated.
struct EvaluateRequest {
  RunEvaluation asked;      ///< Its recipe is replaced by that of the run.
  bool verify_all = false;  ///< Compare the checksums of all columns, however large.
  /// Lifts the limits that hold the process to the budget, before a refusal is explained.
  std::function<void()> release = [] {};
};

/// Evaluates a run. Errors: UsageError, InputError, Failure; BudgetTooSmall, which names the smallest budget
/// that works.
EvaluationResult evaluate_run(EvaluateRequest request);

/// Writes evaluation.json and report.html into the run's folder if all splits were evaluated; ranks other
/// than 0 write nothing. Returns what could not be saved, by this function or by evaluate_run().
Unsaved save_evaluation(const RunEvaluation& asked, const EvaluationResult& findings);

/// Returns the smallest budget with which evaluate_run() works, in bytes; nothing is evaluated. Errors: those
/// of evaluate_run(); BudgetExceeded if the cap of the ledger is too low to find out.
int64_t budget_to_evaluate(EvaluateRequest request);

}  // namespace plimsoll

#pragma once

#include <string>

#include "base/json.h"
#include "cli/run_folder.h"
#include "cli/train_options.h"
#include "sample/batches.h"
#include "telemetry/markup.h"

namespace plimsoll {

/// What the verdicts on a run come to.
struct Findings {
  Json json;
  std::string table;
  std::string notes;
  int64_t graphs = 0;
  Markup report;  ///< report.html; empty for one split alone
};

BlockLimits limits_of(const Recipe& recipe);

/// Judges the detector of a run, and rules beside it, on every split that did not train it; writes the scores
/// where they are asked for. Errors: UsageError, InputError, BudgetTooSmall.
Findings judge_detector(const EvaluateOptions& options, Recipe recipe, const RunFolder& folder, int threads,
                        int64_t outside_ledger);

/// The smallest budget with which judge_detector() works, in bytes. The cap of the ledger is lifted for good;
/// nothing is judged. `cap`: what it was.
int64_t budget_to_judge(const EvaluateOptions& options, Recipe recipe, const RunFolder& folder, int threads,
                        int64_t outside_ledger, int64_t cap);

}  // namespace plimsoll

#include "task/evaluate_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/json_text.h"
#include "base/units.h"
#include "config/earlier_runs.h"
#include "io/file.h"
#include "io/replaceable.h"
#include "job/stage.h"
#include "memory/ledger.h"
#include "task/agreement.h"
#include "task/data_check.h"
#include "task/task.h"
#include "train/plan/planner.h"

namespace plimsoll {
namespace {

// The smallest budget that works, where `more` bytes than there were are needed at least; none where the task
// does not know, or the machine has not what it takes to find out.
std::optional<BudgetTooSmall> refusal_of(const EvaluateRequest& request, const Task& task, int64_t more) {
  std::optional<int64_t> least;
  try {
    least = task.budget_to_evaluate(request.asked);
  } catch (const BudgetExceeded&) {
    return std::nullopt;
  }
  if (!least) return std::nullopt;
  const int64_t needed = std::max(request.budget + more, *least);
  return BudgetTooSmall(fmt::format(
      "to judge the detectors of {} the smallest budget that works is {} bytes ({}); raise --budget",
      request.asked.folder.root.string(), needed, format_bytes(needed)));
}

Findings judge(const EvaluateRequest& request) {
  const RunEvaluation& asked = request.asked;
  const Task& task = find_task(asked.recipe.task);
  const bool has_budget = request.budget > 0;
  if (has_budget && request.budget <= asked.outside_ledger) {
    if (const auto refusal = refusal_of(request, task, 0)) throw *refusal;
    throw BudgetTooSmall(
        fmt::format("budget {} is below what this process holds before any data, {}; give more",
                    format_bytes(request.budget), format_bytes(asked.outside_ledger)));
  }
  try {
    check_data(asked.data, asked.folder, {.full = request.verify_all});
    return task.evaluate(asked);
  } catch (const BudgetTooSmall&) {  // of one detector
    if (!has_budget) throw;
    if (const auto refusal = refusal_of(request, task, 0)) throw *refusal;
    throw;
  } catch (const BudgetExceeded& error) {
    if (!has_budget) throw;
    if (const auto refusal = refusal_of(request, task, error.bytes_asked() - error.bytes_free()))
      throw *refusal;
    throw;
  }
}

}  // namespace

Findings evaluate_run(EvaluateRequest request) {
  const RunFolder& folder = request.asked.folder;
  request.asked.recipe = load_run_recipe(folder.recipe());
  RunEvaluation& asked = request.asked;
  require_no_source(asked.scores,
                    {asked.data, asked.compare, folder.recipe(), folder.manifest(), folder.detector(),
                     folder.evaluation(), folder.report(), folder.seed(asked.recipe.seed)});
  asked.data = nearest_copy(asked.data);
  // One process compares nothing, and reads the manifest where a budget that is too small is answered.
  if (asked.exchange != nullptr) {
    Facts facts = facts_of_use(asked.recipe, asked.data);
    facts.insert(facts.end(), {{"--split", asked.split},
                               {"--calibrate", std::to_string(asked.calibrate)},
                               {"--ablation", asked.ablation ? "given" : "not given"}});
    require_agreement(asked.exchange, facts);
  }
  Findings findings = judge(request);
  if (asked.split.empty() && rank_of(asked.exchange) == 0) {
    write_text(folder.evaluation(), json_text(findings.json, 1) + "\n");
    replace_file(folder.report(),
                 [&](File& file) { file.write(findings.report.data(), findings.report.size()); });
  }
  return findings;
}

}  // namespace plimsoll

#include "run/evaluate_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/error.h"
#include "base/json_text.h"
#include "config/earlier_runs.h"
#include "io/file.h"
#include "io/replaceable.h"
#include "job/stage.h"
#include "run/agreement.h"
#include "run/data_check.h"
#include "run/smallest_budget.h"
#include "run/task.h"

namespace plimsoll {
namespace {

EvaluationResult rehearse(RunEvaluation asked, Rehearsal& rehearsal) {
  asked.rehearsal = &rehearsal;
  return find_task(asked.recipe.task).evaluate(asked);
}

// Compares what the ranks were asked. A single process has nothing to compare.
void require_agreement(const RunEvaluation& asked) {
  if (asked.exchange == nullptr) return;
  Facts facts = facts_of_use(asked.recipe, asked.data);
  facts.emplace_back("--split", asked.split);
  facts.emplace_back("--baseline", asked.baseline ? "yes" : "no");
  if (asked.of_task != nullptr)
    for (auto& fact : asked.of_task->facts()) facts.push_back(std::move(fact));
  require_agreement(asked.exchange, facts);
}

bool has_model(const RunFolder& folder, int64_t seed) {
  std::error_code missing;  // Then there are no stages.
  return std::ranges::any_of(
      std::filesystem::directory_iterator(folder.seed(seed), missing),
      [](const auto& stage) { return std::filesystem::exists(stage.path() / "model.safetensors"); });
}

// Reports the seeds of a run whose training was interrupted or has not started.
void note_missing_seeds(const RunFolder& folder, EvaluationResult& evaluated) {
  const auto text = read_text_if_exists(folder.manifest());
  if (!text) return;
  const Json manifest = parse_json(*text);
  const auto seeds = manifest.value("seeds", std::vector<int64_t>());
  std::vector<int64_t> without;
  std::ranges::copy_if(seeds, std::back_inserter(without),
                       [&](int64_t seed) { return !has_model(folder, seed); });
  if (without.empty()) return;
  evaluated.json["missing_seeds"] = without;
  evaluated.notes += fmt::format(
      "{} of {} seeds have no model yet ({}), and no figure includes them; finish the run with `plimsoll "
      "train "
      "--resume`\n",
      without.size(), seeds.size(), fmt::join(without, ", "));
}

EvaluationResult evaluate_within_budget(const EvaluateRequest& request) {
  const RunEvaluation& asked = request.asked;
  return do_within(
      {.purpose = "to evaluate " + asked.folder.root.string(),
       .memory = asked.memory,
       .release = request.release},
      [&] {
        require_agreement(asked);
        check_data(asked.data, asked.folder, {.full = request.verify_all});
        EvaluationResult evaluated = find_task(asked.recipe.task).evaluate(asked);
        note_missing_seeds(asked.folder, evaluated);
        return evaluated;
      },
      [&](Rehearsal& rehearsal) { rehearse(asked, rehearsal); });
}

}  // namespace

int64_t budget_to_evaluate(EvaluateRequest request) {
  RunEvaluation& asked = request.asked;
  asked.recipe = load_run_recipe(asked.folder.recipe());
  asked.data = nearest_copy(asked.data);
  return budget_of([&](Rehearsal& rehearsal) { rehearse(asked, rehearsal); }, asked.memory);
}

EvaluationResult evaluate_run(EvaluateRequest request) {
  const RunFolder& folder = request.asked.folder;
  request.asked.recipe = load_run_recipe(folder.recipe());
  RunEvaluation& asked = request.asked;
  if (asked.baseline && !find_task(asked.recipe.task).takes_baseline())
    throw UsageError(fmt::format("task '{}' has no --baseline; leave it out (tasks that have one: {})",
                                 asked.recipe.task, tasks_that(&Task::takes_baseline)));
  if (asked.of_task != nullptr)
    asked.of_task->protect(folder.root, {asked.data, folder.recipe(), folder.manifest(), folder.evaluation(),
                                         folder.report(), folder.seed(asked.recipe.seed)});
  asked.data = nearest_copy(asked.data);
  return evaluate_within_budget(request);
}

Unsaved save_evaluation(const RunEvaluation& asked, const EvaluationResult& findings) {
  Unsaved unsaved = findings.unsaved;
  if (!asked.split.empty() || rank_of(asked.exchange) != 0) return unsaved;
  const Markup& report = findings.report;
  unsaved.attempt([&] { write_text(asked.folder.evaluation(), json_text(findings.json, 1) + "\n"); });
  unsaved.attempt([&] {
    replace_file(asked.folder.report(), [&](File& file) { file.write(report.data(), report.size()); });
  });
  return unsaved;
}

}  // namespace plimsoll

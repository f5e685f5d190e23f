#include "tasks/relational/relational_evaluation.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "tasks/classes/classes_evaluation.h"
#include "tasks/metrics/undefined_figures.h"
#include "tasks/relational/baseline.h"
#include "tasks/relational/multilabel_evaluation.h"
#include "tasks/relational/recommendation_evaluation.h"
#include "tasks/relational/relational_data.h"
#include "tasks/relational/relational_figures.h"
#include "tasks/relational/single_label_evaluation.h"
#include "tasks/relational/trivial_rules.h"
#include "telemetry/counted.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

std::vector<NamedGraphList> lists_of(const RelationalData& data, const std::string& only) {
  std::vector<NamedGraphList> lists;
  std::string names;
  for (const TaskSeeds::Split& split : data.seeds().seeds().splits()) {
    if (split.name == TaskSeeds::kTrain) continue;
    GraphList labelled = data.graphs_of(split.name);
    if (labelled.empty()) continue;
    names += (names.empty() ? "" : ", ") + split.name;
    if (only.empty() || only == split.name) lists.push_back({split.name, std::move(labelled)});
  }
  if (lists.empty())
    throw UsageError(
        fmt::format("--split: found '{}', expected a split with labelled seeds: {}", only, names));
  return lists;
}

std::vector<RelationalResult> evaluate(const RunEvaluation& asked, const RelationalData& data) {
  const auto lists = lists_of(data, asked.split);
  const SeedTask kind = data.seeds().seeds().kind();
  const bool has_lists = kind == SeedTask::recommendation;
  if (!has_lists && kind != SeedTask::multilabel_classification)
    return evaluate_single_label(asked, data, lists);
  if (asked.baseline)
    throw UsageError(
        fmt::format("--baseline: LightGBM is for one label per seed, but {} has {}; leave it out",
                    asked.recipe.relational.task, has_lists ? "lists" : "several labels"));
  return has_lists ? evaluate_recommendation(asked, data, lists) : evaluate_multilabel(asked, data, lists);
}

Json model_json(const ModelFigures& found) {
  Json model = {{"name", found.name}};
  if (found.seed) model["seed"] = *found.seed;
  if (found.loss) model["loss"] = *found.loss;
  for (const auto& [name, value] : found.figures) model[name] = figure_json(value);
  return model;
}

// The spread of each figure over the seeds of a run that has several.
Json spread_json(const RelationalResult& result) {
  Json spreads = Json::object();
  for (size_t i = 0; i < result.networks.front().figures.size(); ++i)
    if (const std::optional<SeedSpread> spread = result.spread(i))
      spreads[result.networks.front().figures[i].first] = spread->json();
  return spreads;
}

Json json_of(const std::vector<RelationalResult>& results, const Recipe& recipe, const TypedSource& seeds) {
  Json splits = Json::array();
  for (const RelationalResult& result : results) {
    Json models = Json::array();
    for (const auto* list : {&result.networks, &result.rules})
      for (const ModelFigures& found : *list) models.push_back(model_json(found));
    Json split = {{"name", result.split}, {"items", result.seeds}, {"models", std::move(models)}};
    if (result.unknown_labels > 0) split["unknown_labels"] = result.unknown_labels;
    if (result.networks.size() > 1) split["spread"] = spread_json(result);
    splits.push_back(std::move(split));
  }
  Json json = {{"task", recipe.relational.task},
               {"test_history", seeds.has_last_time() ? TestHistory::cutoff : TestHistory::rolling},
               {"splits", std::move(splits)}};
  if (seeds.seeds().kind() == SeedTask::recommendation) json["k"] = seeds.seeds().list_length();
  return json;
}

// Returns a sentence for each rule that is at least as good as the network by the first figure, such as the
// area under the curve or the error. If the run has several random seeds, their median is compared.
std::string unbeaten_rules(const RelationalResult& result) {
  std::string text;
  const std::optional<SeedSpread> network = result.spread(0);
  const std::string& figure = result.networks.front().figures.front().first;
  for (const ModelFigures& rule : result.rules)
    text += unbeaten_rule(result.split, figure, figure == kError,
                          network ? std::optional(network->median) : std::nullopt, rule.name,
                          rule.figures.front().second)
                .value_or("");
  return text;
}

std::string unknown_labels(const RelationalResult& result) {
  if (result.unknown_labels == 0) return {};
  return fmt::format("The figures of the split {} leave out {} with a label that no training seed has.\n",
                     result.split, counted(result.unknown_labels, "seed"));
}

// The baseline reads rows that refer to the entity. Event tables that became edges have no rows.
std::string edges_without_rows(const RelationalData& data) {
  std::string names;
  for (const EdgeTypeView& edges : data.seeds().graph().edge_types())
    if (edges.target == data.seeds().seeds().entity() && !edges.times.empty())
      names += (names.empty() ? "" : ", ") + edges.name;
  return names.empty()
             ? ""
             : fmt::format("The baseline {} does not read the event tables that became edges: {}.\n",
                           kBaseline, names);
}

std::vector<std::string> row_of(const RelationalResult& result, const ModelFigures& found) {
  const bool is_one_of_several = found.seed && result.networks.size() > 1;
  const std::string name =
      is_one_of_several ? fmt::format("{}, seed {}", found.name, *found.seed) : found.name;
  std::vector<std::string> row = {result.split, format_count(result.seeds), name, figure_text(found.loss)};
  for (const auto& [figure, value] : found.figures) row.push_back(figure_text(value));
  return row;
}

// Returns a row with the median of each figure over the seeds of a run, and its smallest and largest value.
std::vector<std::string> row_of_spread(const RelationalResult& result) {
  std::vector<std::string> row = {result.split, format_count(result.seeds),
                                  fmt::format("median of {} [min, max]", result.networks.size()), "-"};
  for (size_t i = 0; i < result.networks.front().figures.size(); ++i) {
    const std::optional<SeedSpread> spread = result.spread(i);
    row.push_back(spread ? spread->text() : "-");
  }
  return row;
}

std::vector<std::vector<std::string>> rows_of(const RelationalResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const ModelFigures& found : result.networks) rows.push_back(row_of(result, found));
  if (result.networks.size() > 1) rows.push_back(row_of_spread(result));
  for (const ModelFigures& found : result.rules) rows.push_back(row_of(result, found));
  return rows;
}

}  // namespace

EvaluationResult evaluate_relational(const RunEvaluation& asked) {
  const RelationalData data(asked.data, asked.recipe);
  std::vector<RelationalResult> results = evaluate(asked, data);
  for (RelationalResult& result : results) result.unknown_labels = data.unknown_labels(result.split);
  std::vector<std::string> columns = {"<split", "seeds", "<model", "loss"};
  for (const auto& [name, value] : results.front().networks.front().figures) columns.push_back(name);
  Table table(columns);
  std::vector<std::vector<std::string>> rows;
  EvaluationResult evaluated;
  evaluated.json = json_of(results, asked.recipe, data.seeds());
  evaluated.unit = "seed";
  for (const RelationalResult& result : results) {
    for (std::vector<std::string>& row : rows_of(result)) {
      rows.push_back(row);
      table.add(std::move(row));
    }
    evaluated.graphs += result.seeds;
    evaluated.notes += unbeaten_rules(result) + unknown_labels(result);
  }
  if (asked.baseline) evaluated.notes += edges_without_rows(data);
  evaluated.table = table.text();
  if (asked.split.empty())
    evaluated.report =
        table_report("Task " + asked.recipe.relational.task + ", evaluated by plimsoll evaluate", columns,
                     rows, asked.folder, evaluated.notes);
  return evaluated;
}

}  // namespace plimsoll

#include "tasks/relational/relational_evaluation.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/units.h"
#include "engine/predict/list_predictor.h"
#include "nn/classification.h"
#include "tasks/classes/classes_evaluation.h"
#include "tasks/metrics/classification_metrics.h"
#include "tasks/metrics/ranking.h"
#include "tasks/metrics/regression_metrics.h"
#include "tasks/metrics/undefined_figures.h"
#include "tasks/relational/multilabel_evaluation.h"
#include "tasks/relational/recommendation_evaluation.h"
#include "tasks/relational/relational_data.h"
#include "tasks/relational/relational_figures.h"
#include "tasks/relational/relational_model.h"
#include "tasks/relational/trivial_rules.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

constexpr const char* kError = "mae";

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

// Returns the standard deviation of the training labels, with one degree of freedom less.
double training_deviation(const RelationalData& data) {
  double mean = 0, squares = 0;
  int64_t count = 0;
  for (const int64_t seed : data.graphs_of(TaskSeeds::kTrain)) {
    const double value = data.seeds().seeds().value(seed);
    if (std::isnan(value)) continue;
    const double difference = value - mean;
    mean += difference / static_cast<double>(++count);
    squares += difference * (value - mean);
  }
  return std::sqrt(squares / static_cast<double>(std::max<int64_t>(count - 1, 1)));
}

std::vector<Figure> figures_of_classes(std::span<const float> logits, const TaskSeeds& seeds,
                                       const GraphList& list, int64_t classes) {
  Vector<int64_t, Tag::columns> labels;
  labels.reserve(list.size());
  for (const int64_t seed : list) labels.push_back(seeds.label(seed));
  const ClassificationFigures found = classification_figures(logits, labels, classes);
  std::vector<Figure> figures = {{"auc", found.auc}, {"accuracy", found.accuracy}, {"f1", found.f1}};
  if (classes != 2) return figures;
  // The difference of the logits orders seeds as the probability of class 1 does.
  Vector<float, Tag::columns> scores(list.size());
  Vector<uint8_t, Tag::columns> truth(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    scores[i] = logits[2 * i + 1] - logits[2 * i];
    truth[i] = static_cast<uint8_t>(labels[i]);
  }
  figures.insert(figures.begin() + 1, {"average_precision", Ranking(scores, truth).average_precision()});
  return figures;
}

std::vector<Figure> figures_of_values(std::span<const float> values, const TaskSeeds& seeds,
                                      const GraphList& list, double deviation) {
  Vector<float, Tag::columns> targets;
  targets.reserve(list.size());
  for (const int64_t seed : list) targets.push_back(static_cast<float>(seeds.value(seed)));
  const TargetErrors errors = regression_figures(values, targets, 1).mean;
  std::optional<double> nmae;
  if (errors.mae && deviation > 0) nmae = *errors.mae / deviation;
  return {{kError, errors.mae}, {"nmae", nmae}, {"rmse", errors.rmse}, {"r2", errors.r2}};
}

// Called before torch computes the loss, because its error does not name the seed.
void require_known_labels(const TaskSeeds& seeds, std::span<const NamedGraphList> lists, int64_t classes) {
  for (const NamedGraphList& list : lists)
    for (const int64_t seed : list.graphs)
      if (const int64_t label = seeds.label(seed); label >= classes)
        throw InputError(fmt::format("seed {}: the label is {}, but the model knows only classes 0 .. {}",
                                     seed, label, classes - 1));
}

std::vector<RelationalResult> evaluate_one_label(const RunEvaluation& asked, const RelationalData& data,
                                                 const std::vector<NamedGraphList>& lists) {
  const TypedSource& source = data.seeds();
  const auto shapes = read_shapes(source, asked.memory.threads);
  GnnModel model{
      .model = load_relational(asked.folder.model(asked.recipe), asked.recipe, source, data.identity_hash())};
  const auto objective = make_relational_objective(asked.recipe, *model.model, source.seeds());
  const int64_t outputs = model.model->classes();
  std::vector<size_t> numbers;
  int64_t longest = 0;
  for (const NamedGraphList& list : lists) {
    numbers.push_back(list.graphs.size() * static_cast<size_t>(outputs));
    longest = std::max(longest, std::ssize(list.graphs));
  }
  const bool values = model.model->gives_values();
  if (!values) require_known_labels(source.seeds(), lists, outputs);
  const TrivialRules rules(data, values ? 0 : outputs);
  // Labels, scores and their order, in addition to those of the metrics, and the predictions of a rule.
  const int64_t later =
      (values ? longest * int64_t{sizeof(float)}
              : classification_figures_bytes(longest, outputs) + longest * (13 + Ranking::kBytesPerScore)) +
      longest * outputs * int64_t{sizeof(float)};
  ListPredictor predictor({.source = source,
                           .shapes = shapes,
                           .model = model,
                           .limits = limits_of(asked.recipe.training),
                           .memory = asked.memory,
                           .exchange = asked.exchange,
                           .device = asked.device,
                           .rehearsal = asked.rehearsal,
                           .lists = lists},
                          *objective, numbers, later);
  const double deviation = values ? training_deviation(data) : 0;
  std::vector<RelationalResult> results;
  for (size_t i = 0; i < lists.size(); ++i) {
    const auto figures = [&](std::span<const float> found) {
      return values ? figures_of_values(found, source.seeds(), lists[i].graphs, deviation)
                    : figures_of_classes(found, source.seeds(), lists[i].graphs, outputs);
    };
    const auto [loss, found] = predictor.predict(i);
    results.push_back({lists[i].name, std::ssize(lists[i].graphs), {{kNetwork, loss, figures(found)}}});
    for (const std::string& rule : rules.names())
      results.back().models.push_back({rule, std::nullopt, figures(rules.predict(rule, lists[i].graphs))});
  }
  return results;
}

std::vector<RelationalResult> evaluate(const RunEvaluation& asked, const RelationalData& data) {
  const auto lists = lists_of(data, asked.split);
  const SeedTask kind = data.seeds().seeds().kind();
  if (kind == SeedTask::recommendation) return evaluate_recommendation(asked, data, lists);
  if (kind == SeedTask::multilabel_classification) return evaluate_multilabel(asked, data, lists);
  return evaluate_one_label(asked, data, lists);
}

Json json_of(const std::vector<RelationalResult>& results, const Recipe& recipe, const TypedSource& seeds) {
  Json splits = Json::array();
  for (const RelationalResult& result : results) {
    Json models = Json::array();
    for (const ModelFigures& found : result.models) {
      Json model = {{"name", found.name}};
      if (found.name == kNetwork) model["seed"] = recipe.seed;
      if (found.loss) model["loss"] = *found.loss;
      for (const auto& [name, value] : found.figures) model[name] = figure_json(value);
      models.push_back(std::move(model));
    }
    splits.push_back({{"name", result.split}, {"items", result.seeds}, {"models", std::move(models)}});
  }
  Json json = {{"task", recipe.relational.task},
               {"test_history", seeds.has_last_time() ? TestHistory::cutoff : TestHistory::rolling},
               {"splits", std::move(splits)}};
  if (seeds.seeds().kind() == SeedTask::recommendation) json["k"] = seeds.seeds().list_length();
  return json;
}

// Says where a rule is as good as the network, by the first figure: the area under the curve or the error.
std::string unbeaten_rules(const RelationalResult& result) {
  std::string text;
  const auto& [figure, network] = result.models.front().figures.front();
  for (size_t i = 1; i < result.models.size(); ++i)
    text += unbeaten_rule(result.split, figure, figure == kError, network, result.models[i].name,
                          result.models[i].figures.front().second)
                .value_or("");
  return text;
}

}  // namespace

EvaluationResult evaluate_relational(const RunEvaluation& asked) {
  const RelationalData data(asked.data, asked.recipe);
  const std::vector<RelationalResult> results = evaluate(asked, data);
  std::vector<std::string> columns = {"<split", "seeds", "<model", "loss"};
  for (const auto& [name, value] : results.front().models.front().figures) columns.push_back(name);
  Table table(columns);
  std::vector<std::vector<std::string>> rows;
  EvaluationResult evaluated;
  evaluated.json = json_of(results, asked.recipe, data.seeds());
  evaluated.unit = "seed";
  for (const RelationalResult& result : results) {
    for (const ModelFigures& found : result.models) {
      std::vector<std::string> row = {result.split, format_count(result.seeds), found.name,
                                      figure_text(found.loss)};
      for (const auto& [name, value] : found.figures) row.push_back(figure_text(value));
      rows.push_back(row);
      table.add(std::move(row));
    }
    evaluated.graphs += result.seeds;
    evaluated.notes += unbeaten_rules(result);
  }
  evaluated.table = table.text();
  if (asked.split.empty())
    evaluated.report =
        table_report("Task " + asked.recipe.relational.task + ", evaluated by plimsoll evaluate", columns,
                     rows, asked.folder, evaluated.notes);
  return evaluated;
}

}  // namespace plimsoll

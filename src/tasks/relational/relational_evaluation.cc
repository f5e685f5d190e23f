#include "tasks/relational/relational_evaluation.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/units.h"
#include "engine/predict/list_predictor.h"
#include "io/file_system.h"
#include "nn/classification.h"
#include "tasks/classes/classes_evaluation.h"
#include "tasks/metrics/classification_metrics.h"
#include "tasks/metrics/ranking.h"
#include "tasks/metrics/regression_metrics.h"
#include "tasks/metrics/undefined_figures.h"
#include "tasks/relational/baseline.h"
#include "tasks/relational/relational_data.h"
#include "tasks/relational/relational_model.h"
#include "tasks/relational/seed_spread.h"
#include "tasks/relational/trivial_rules.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

constexpr const char* kNetwork = "relational";
constexpr const char* kError = "mae";

using Figure = std::pair<std::string, std::optional<double>>;

// The metrics of a model or rule, in the order of the columns of a table.
struct ModelFigures {
  std::string name;
  std::optional<int64_t> seed;  // Rules have neither seed nor loss.
  std::optional<double> loss;
  std::vector<Figure> figures;
};

struct RelationalResult {
  std::string split;
  int64_t seeds = 0;
  std::vector<ModelFigures> networks;  // One for each seed of the run.
  std::vector<ModelFigures> rules;

  // Returns the spread of the figure with this index over the networks.
  std::optional<SeedSpread> spread(size_t figure) const {
    std::vector<std::optional<double>> values;
    for (const ModelFigures& network : networks) values.push_back(network.figures[figure].second);
    return SeedSpread::of(values);
  }
};

// Returns the run's recipe for one of its seeds.
Recipe recipe_of(const RunEvaluation& asked, int64_t seed) {
  Recipe recipe = asked.recipe;
  recipe.seed = seed;
  return recipe;
}

// Returns the seeds of which the run has a model, counting up from the recipe's own.
std::vector<int64_t> trained_seeds(const RunEvaluation& asked) {
  std::vector<int64_t> seeds = {asked.recipe.seed};
  while (FileSystem::disk().exists(asked.folder.model(recipe_of(asked, seeds.back() + 1))))
    seeds.push_back(seeds.back() + 1);
  return seeds;
}

std::unique_ptr<GraphModel> load_model(const RunEvaluation& asked, const RelationalData& data, int64_t seed) {
  const Recipe recipe = recipe_of(asked, seed);
  return load_relational(asked.folder.model(recipe), recipe, data.seeds(), data.identity_hash());
}

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

// What the models of all seeds are evaluated on.
struct EvaluatedSeeds {
  const RelationalData& data;
  Vector<GraphShape, Tag::columns> shapes;
  std::vector<NamedGraphList> lists;
  bool values;      // Whether models give values, not classes.
  int64_t outputs;  // Outputs of a model for each seed.
  double deviation = 0;

  std::vector<Figure> figures(std::span<const float> found, const GraphList& list) const {
    const TaskSeeds& seeds = data.seeds().seeds();
    return values ? figures_of_values(found, seeds, list, deviation)
                  : figures_of_classes(found, seeds, list, outputs);
  }
  // Bytes of labels, scores and their order, in addition to those of the metrics, and of a rule's
  // predictions.
  int64_t later() const {
    int64_t longest = 0;
    for (const NamedGraphList& list : lists) longest = std::max(longest, std::ssize(list.graphs));
    return (values
                ? longest * int64_t{sizeof(float)}
                : classification_figures_bytes(longest, outputs) + longest * (13 + Ranking::kBytesPerScore)) +
           longest * outputs * int64_t{sizeof(float)};
  }
};

EvaluatedSeeds open_seeds(const RunEvaluation& asked, const RelationalData& data) {
  EvaluatedSeeds opened{.data = data,
                        .shapes = read_shapes(data.source(), asked.memory.threads),
                        .lists = lists_of(data, asked.split),
                        .values = false,
                        .outputs = 0};
  const auto model = load_model(asked, data, asked.recipe.seed);
  opened.values = model->gives_values();
  opened.outputs = model->classes();
  if (opened.values)
    opened.deviation = training_deviation(data);
  else
    require_known_labels(data.seeds().seeds(), opened.lists, opened.outputs);
  return opened;
}

// Adds the figures of the model of one seed to the result of each list.
void add_network(const RunEvaluation& asked, const EvaluatedSeeds& on, int64_t seed,
                 std::vector<RelationalResult>& results) {
  GnnModel model{.model = load_model(asked, on.data, seed)};
  const auto objective = make_relational_objective(asked.recipe, *model.model);
  std::vector<size_t> numbers;
  for (const NamedGraphList& list : on.lists)
    numbers.push_back(list.graphs.size() * static_cast<size_t>(on.outputs));
  ListPredictor predictor({.source = on.data.source(),
                           .shapes = on.shapes,
                           .model = model,
                           .limits = limits_of(asked.recipe.training),
                           .memory = asked.memory,
                           .exchange = asked.exchange,
                           .device = asked.device,
                           .rehearsal = asked.rehearsal,
                           .lists = on.lists},
                          *objective, numbers, on.later());
  for (size_t i = 0; i < on.lists.size(); ++i) {
    const auto [loss, found] = predictor.predict(i);
    results[i].networks.push_back({kNetwork, seed, loss, on.figures(found, on.lists[i].graphs)});
  }
}

// Trains LightGBM, and adds its figures to the result of each list.
void add_baseline(const RunEvaluation& asked, const EvaluatedSeeds& on,
                  std::vector<RelationalResult>& results) {
  train_baseline(asked);
  for (size_t i = 0; i < results.size(); ++i) {
    const GraphList& list = on.lists[i].graphs;
    const auto found = baseline_predictions(asked.folder, results[i].split, std::ssize(list), on.outputs);
    results[i].rules.push_back({kBaseline, std::nullopt, std::nullopt, on.figures(found, list)});
  }
}

std::vector<RelationalResult> evaluate(const RunEvaluation& asked, const RelationalData& data) {
  const EvaluatedSeeds on = open_seeds(asked, data);
  const TrivialRules rules(data, on.values ? 0 : on.outputs);
  std::vector<RelationalResult> results;
  for (const NamedGraphList& list : on.lists)
    results.push_back({.split = list.name, .seeds = std::ssize(list.graphs), .networks = {}, .rules = {}});
  for (const int64_t seed : trained_seeds(asked)) add_network(asked, on, seed, results);
  for (size_t i = 0; i < results.size(); ++i)
    for (const std::string& rule : rules.names()) {
      const GraphList& list = on.lists[i].graphs;
      results[i].rules.push_back(
          {rule, std::nullopt, std::nullopt, on.figures(rules.predict(rule, list), list)});
    }
  if (asked.baseline && asked.rehearsal == nullptr) add_baseline(asked, on, results);
  return results;
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
    if (result.networks.size() > 1) split["spread"] = spread_json(result);
    splits.push_back(std::move(split));
  }
  return {{"task", recipe.relational.task},
          {"test_history", seeds.has_last_time() ? TestHistory::cutoff : TestHistory::rolling},
          {"splits", std::move(splits)}};
}

// Says where a rule is as good as the network, by the first figure: the area under the curve or the error. Of
// several seeds the median counts.
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

std::vector<std::string> row_of(const RelationalResult& result, const ModelFigures& found) {
  const bool is_one_of_several = found.seed && result.networks.size() > 1;
  const std::string name =
      is_one_of_several ? fmt::format("{}, seed {}", found.name, *found.seed) : found.name;
  std::vector<std::string> row = {result.split, format_count(result.seeds), name, figure_text(found.loss)};
  for (const auto& [figure, value] : found.figures) row.push_back(figure_text(value));
  return row;
}

// The medians over the seeds of a run, with the smallest and largest figures.
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
  const std::vector<RelationalResult> results = evaluate(asked, data);
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

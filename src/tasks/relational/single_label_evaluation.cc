#include "tasks/relational/single_label_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "tasks/metrics/classification_metrics.h"
#include "tasks/metrics/ranking.h"
#include "tasks/metrics/regression_metrics.h"
#include "tasks/relational/baseline.h"
#include "tasks/relational/relational_model.h"
#include "tasks/relational/run_models.h"
#include "tasks/relational/trivial_rules.h"

namespace plimsoll {
namespace {

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

// The labels of the seeds, and the metrics of outputs for them.
struct Labels {
  const TaskSeeds& seeds;
  int64_t outputs;  // Outputs of a model for each seed.
  bool values;      // Whether models give values, not classes.
  double deviation = 0;

  std::vector<Figure> figures(std::span<const float> found, const GraphList& list) const {
    return values ? figures_of_values(found, seeds, list, deviation)
                  : figures_of_classes(found, seeds, list, outputs);
  }
  // Returns the bytes that the metrics need for `longest` seeds, with their labels, scores and the order of
  // scores, and the bytes of a rule's predictions.
  int64_t later(int64_t longest) const {
    return (values
                ? longest * int64_t{sizeof(float)}
                : classification_figures_bytes(longest, outputs) + longest * (13 + Ranking::kBytesPerScore)) +
           longest * outputs * int64_t{sizeof(float)};
  }
};

Labels labels_of(const RunEvaluation& asked, const RelationalData& data,
                 const std::vector<NamedGraphList>& lists) {
  const auto model = load_run_model(asked, data);
  Labels labels{data.seeds().seeds(), model->classes(), model->gives_values()};
  if (labels.values)
    labels.deviation = training_deviation(data);
  else
    require_known_labels(labels.seeds, lists, labels.outputs);
  return labels;
}

}  // namespace

std::vector<RelationalResult> evaluate_single_label(const RunEvaluation& asked, const RelationalData& data,
                                                    const std::vector<NamedGraphList>& lists) {
  const Labels labels = labels_of(asked, data, lists);
  const TrivialRules rules(data, labels.values ? 0 : labels.outputs);
  std::vector<RelationalResult> results = results_of(lists);
  const auto objective = [&](const GraphModel& model) {
    return make_relational_objective(asked.recipe, model, labels.seeds);
  };
  predict_with_run(
      asked, data, {lists, labels.outputs, labels.later(longest_of(lists)), objective},
      [&](int64_t seed, size_t list, double loss, std::span<const float> found) {
        results[list].networks.push_back({kNetwork, seed, loss, labels.figures(found, lists[list].graphs)});
      });
  const bool has_baseline = asked.baseline && asked.rehearsal == nullptr;
  if (has_baseline) train_baseline(asked);
  for (size_t i = 0; i < lists.size(); ++i) {
    const GraphList& list = lists[i].graphs;
    const auto add_rule = [&](const std::string& name, std::span<const float> found) {
      results[i].rules.push_back({.name = name, .figures = labels.figures(found, list)});
    };
    for (const std::string& rule : rules.names()) add_rule(rule, rules.predict(rule, list));
    if (has_baseline)
      add_rule(kBaseline,
               baseline_predictions(asked.folder, lists[i].name, std::ssize(list), labels.outputs));
  }
  return results;
}

}  // namespace plimsoll

#include "tasks/relational/multilabel_evaluation.h"

#include <algorithm>

#include "engine/predict/list_predictor.h"
#include "nn/multi_label.h"
#include "tasks/classes/classes_evaluation.h"
#include "tasks/metrics/label_metrics.h"
#include "tasks/metrics/ranking.h"
#include "tasks/relational/label_shares.h"
#include "tasks/relational/relational_model.h"

namespace plimsoll {
namespace {

Vector<float, Tag::columns> targets_of(const TaskSeeds& seeds, const GraphList& list) {
  const auto labels = static_cast<size_t>(seeds.target_width());
  Vector<float, Tag::columns> targets(list.size() * labels);
  for (size_t i = 0; i < list.size(); ++i)
    seeds.write_targets(list[i], std::span(targets).subspan(i * labels, labels));
  return targets;
}

std::vector<Figure> figures_of(std::span<const float> logits, std::span<const float> targets,
                               int64_t labels) {
  const LabelFigures found = label_figures(logits, targets, labels);
  return {{"macro_auc", found.macro_auc}, {"micro_f1", found.micro_f1}};
}

}  // namespace

std::vector<RelationalResult> evaluate_multilabel(const RunEvaluation& asked, const RelationalData& data,
                                                  const std::vector<NamedGraphList>& lists) {
  const TypedSource& source = data.seeds();
  const int64_t labels = source.seeds().target_width();
  const auto shapes = read_shapes(source, asked.memory.threads);
  GnnModel model{
      .model = load_relational(asked.folder.model(asked.recipe), asked.recipe, source, data.identity_hash())};
  const MultiLabel objective(*model.model);
  const LabelShares rules(data);
  std::vector<size_t> numbers;
  int64_t longest = 0;
  for (const NamedGraphList& list : lists) {
    numbers.push_back(list.graphs.size() * static_cast<size_t>(labels));
    longest = std::max(longest, std::ssize(list.graphs));
  }
  // The targets, the predictions of a rule, and the scores of one label.
  const int64_t later = longest * (2 * labels * int64_t{sizeof(float)} + 5 + Ranking::kBytesPerScore);
  ListPredictor predictor({.source = source,
                           .shapes = shapes,
                           .model = model,
                           .limits = limits_of(asked.recipe.training),
                           .memory = asked.memory,
                           .exchange = asked.exchange,
                           .device = asked.device,
                           .rehearsal = asked.rehearsal,
                           .lists = lists},
                          objective, numbers, later);
  std::vector<RelationalResult> results;
  for (size_t i = 0; i < lists.size(); ++i) {
    const GraphList& list = lists[i].graphs;
    const auto targets = targets_of(source.seeds(), list);
    const auto [loss, found] = predictor.predict(i);
    results.push_back(
        {lists[i].name, std::ssize(list), {{kNetwork, loss, figures_of(found, targets, labels)}}});
    for (const std::string& name : LabelShares::names())
      results.back().models.push_back(
          {name, std::nullopt, figures_of(rules.predict(name, list), targets, labels)});
  }
  return results;
}

}  // namespace plimsoll

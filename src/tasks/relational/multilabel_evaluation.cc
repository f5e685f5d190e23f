#include "tasks/relational/multilabel_evaluation.h"

#include <memory>

#include "nn/multi_label.h"
#include "tasks/metrics/label_metrics.h"
#include "tasks/metrics/ranking.h"
#include "tasks/relational/label_shares.h"
#include "tasks/relational/run_models.h"

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
  const TaskSeeds& seeds = data.seeds().seeds();
  const int64_t labels = seeds.target_width();
  const LabelShares rules(data);
  std::vector<RelationalResult> results = results_of(lists);
  // Bytes of the targets, of the predictions of a rule, and of the scores of one label.
  const int64_t later =
      longest_of(lists) * (2 * labels * int64_t{sizeof(float)} + 5 + Ranking::kBytesPerScore);
  const auto objective = [](const GraphModel& model) { return std::make_unique<MultiLabel>(model); };
  predict_with_run(
      asked, data, {lists, labels, later, objective},
      [&](int64_t seed, size_t i, double loss, std::span<const float> found) {
        const auto targets = targets_of(seeds, lists[i].graphs);
        results[i].networks.push_back({kNetwork, seed, loss, figures_of(found, targets, labels)});
      });
  for (size_t i = 0; i < lists.size(); ++i) {
    const auto targets = targets_of(seeds, lists[i].graphs);
    for (const std::string& name : LabelShares::names())
      results[i].rules.push_back(
          {.name = name, .figures = figures_of(rules.predict(name, lists[i].graphs), targets, labels)});
  }
  return results;
}

}  // namespace plimsoll

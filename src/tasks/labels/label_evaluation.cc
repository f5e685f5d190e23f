#include "tasks/labels/label_evaluation.h"

#include <fmt/format.h>

#include "base/units.h"
#include "tasks/metrics/undefined_figures.h"

namespace plimsoll {

std::vector<LabelResult> evaluate_labels(const GraphView& graph, DiskTopology& topology,
                                         const GnnModel& model, const std::vector<std::string>& splits,
                                         const FullNeighbourOptions& options) {
  const PredictedTargets found =
      predict_target_nodes(graph, topology, model, splits, NodeLabels::multi, options);
  std::vector<LabelResult> results;
  for (const PredictedTargets::List& list : found.lists) {
    const std::span<const float> logits = list.rows(found.outputs, found.width);
    const std::span<const float> labels = list.rows(found.targets, found.width);
    results.push_back(
        {list.name, mean_label_loss(logits, labels), label_figures(logits, labels, found.width)});
  }
  return results;
}

Json labels_json(const std::vector<LabelResult>& results, const std::string& model, int64_t seed) {
  Json splits = Json::array();
  for (const LabelResult& result : results)
    splits.push_back({{"name", result.name},
                      {"items", result.figures.items},
                      {"models",
                       {{{"name", model},
                         {"seed", seed},
                         {"loss", result.loss},
                         {"micro_f1", figure_json(result.figures.micro_f1)},
                         {"macro_auc", figure_json(result.figures.macro_auc)}}}}});
  return {{"splits", std::move(splits)}};
}

std::vector<std::string> label_columns() {
  return {"<split", "nodes", "loss", "micro F1", "macro AUC"};
}

std::vector<std::string> label_row(const LabelResult& result) {
  return {result.name, format_count(result.figures.items), fmt::format("{:.4f}", result.loss),
          figure_text(result.figures.micro_f1), figure_text(result.figures.macro_auc)};
}

}  // namespace plimsoll

#include "tasks/trees/tree_evaluation.h"

#include <algorithm>

#include "engine/blocks/shared_prediction.h"
#include "tasks/gnn/gnn_stage.h"

namespace plimsoll {

std::vector<TreeVerdict> judge_trees(const EvaluationInput& input, const Recipe& recipe) {
  const std::unique_ptr<Objective> objective =
      make_pretraining(recipe, *input.model.model, /*baseline=*/true);
  // The outputs are allocated before the blocks, which get the rest.
  std::vector<int64_t> nodes;
  for (const NamedGraphList& list : input.lists) {
    nodes.push_back(0);
    for (const int64_t g : list.graphs) nodes.back() += input.shapes[static_cast<size_t>(g)].nodes;
  }
  const auto width = static_cast<size_t>(objective->outputs());
  Vector<float, Tag::columns> outputs(width *
                                      static_cast<size_t>(nodes.empty() ? 0 : std::ranges::max(nodes)));
  PlannedEngine engine = engine_for(input, *objective);
  std::vector<TreeVerdict> verdicts;
  for (size_t i = 0; i < input.lists.size(); ++i) {
    const std::span<float> found = std::span(outputs).first(width * static_cast<size_t>(nodes[i]));
    TreeVerdict verdict{input.lists[i].name, static_cast<int64_t>(input.lists[i].graphs.size()), nodes[i]};
    if (input.rehearsal == nullptr)
      verdict.loss = predict_on_ranks(*engine, input.exchange, input.lists[i].graphs, found);
    const auto mean = [&](size_t column) {
      double sum = 0;
      for (size_t at = column; at < found.size(); at += width) sum += found[at];
      return sum / static_cast<double>(std::max<int64_t>(nodes[i], 1));
    };
    verdict.growth = mean(0);
    verdict.order = mean(1);
    verdict.parent_edge = mean(width - 1);
    if (recipe.pretraining.angle_bins > 0) verdict.angle = mean(2);
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

Json trees_json(const std::vector<TreeVerdict>& verdicts, const std::string& model, int64_t seed) {
  Json splits = Json::array();
  for (const TreeVerdict& verdict : verdicts) {
    Json judged = {{"name", model},
                   {"seed", seed},
                   {"loss", verdict.loss},
                   {"growth", verdict.growth},
                   {"parent_edge", verdict.parent_edge},
                   {"order", verdict.order}};
    if (verdict.angle) judged["angle"] = *verdict.angle;
    splits.push_back({{"name", verdict.name},
                      {"graphs", verdict.graphs},
                      {"items", verdict.nodes},
                      {"models", Json::array({judged})}});
  }
  return {{"splits", std::move(splits)}};
}

}  // namespace plimsoll

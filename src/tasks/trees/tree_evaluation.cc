#include "tasks/trees/tree_evaluation.h"

#include <algorithm>

#include "engine/blocks/shared_prediction.h"
#include "tasks/gnn/gnn_stage.h"

namespace plimsoll {

std::vector<TreeResult> evaluate_trees(const EvaluationInput& input, const Recipe& recipe) {
  const std::unique_ptr<Objective> objective =
      make_pretraining(recipe, *input.model.model, /*baseline=*/true);
  // The outputs are allocated before the blocks, which use the remaining memory.
  std::vector<int64_t> nodes;
  for (const NamedGraphList& list : input.lists) {
    nodes.push_back(0);
    for (const int64_t g : list.graphs) nodes.back() += input.shapes[static_cast<size_t>(g)].nodes;
  }
  const auto width = static_cast<size_t>(objective->outputs());
  Vector<float, Tag::columns> outputs(width *
                                      static_cast<size_t>(nodes.empty() ? 0 : std::ranges::max(nodes)));
  PlannedEngine engine = engine_for(input, *objective);
  std::vector<TreeResult> results;
  for (size_t i = 0; i < input.lists.size(); ++i) {
    const std::span<float> found = std::span(outputs).first(width * static_cast<size_t>(nodes[i]));
    TreeResult result{input.lists[i].name, static_cast<int64_t>(input.lists[i].graphs.size()), nodes[i]};
    if (input.rehearsal == nullptr)
      result.loss = predict_on_ranks(*engine, input.exchange, input.lists[i].graphs, found);
    const auto mean = [&](size_t column) {
      double sum = 0;
      for (size_t at = column; at < found.size(); at += width) sum += found[at];
      return sum / static_cast<double>(std::max<int64_t>(nodes[i], 1));
    };
    result.growth = mean(0);
    result.order = mean(1);
    result.parent_edge = mean(width - 1);
    if (recipe.pretraining.angle_bins > 0) result.angle = mean(2);
    results.push_back(std::move(result));
  }
  return results;
}

Json trees_json(const std::vector<TreeResult>& results, const std::string& model, int64_t seed) {
  Json splits = Json::array();
  for (const TreeResult& result : results) {
    Json evaluated = {{"name", model},
                      {"seed", seed},
                      {"loss", result.loss},
                      {"growth", result.growth},
                      {"parent_edge", result.parent_edge},
                      {"order", result.order}};
    if (result.angle) evaluated["angle"] = *result.angle;
    splits.push_back({{"name", result.name},
                      {"graphs", result.graphs},
                      {"items", result.nodes},
                      {"models", Json::array({evaluated})}});
  }
  return {{"splits", std::move(splits)}};
}

}  // namespace plimsoll

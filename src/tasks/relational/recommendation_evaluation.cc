#include "tasks/relational/recommendation_evaluation.h"

#include <algorithm>
#include <memory>

#include "nn/average_precision.h"
#include "nn/recommendation.h"
#include "tasks/relational/frequent_destinations.h"
#include "tasks/relational/run_models.h"

namespace plimsoll {
namespace {

// Returns the mean average precision. node_of(i, j) is entry j of the list of seed i.
template <typename NodeOf>
std::vector<Figure> map_of(const TaskSeeds& seeds, const GraphList& list, const NodeOf& node_of) {
  double sum = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::span<const uint32_t> targets = seeds.destinations(list[i]);
    sum += average_precision(seeds.list_length(), std::ssize(targets), [&](int64_t j) {
      return std::ranges::find(targets, node_of(i, static_cast<size_t>(j))) != targets.end();
    });
  }
  return {{"map", sum / static_cast<double>(list.size())}};
}

}  // namespace

std::vector<RelationalResult> evaluate_recommendation(const RunEvaluation& asked, const RelationalData& data,
                                                      const std::vector<NamedGraphList>& lists) {
  const TaskSeeds& seeds = data.seeds().seeds();
  const auto length = static_cast<size_t>(seeds.list_length());
  const FrequentDestinations rules(data);
  std::vector<RelationalResult> results = results_of(lists);
  const auto objective = [&](const GraphModel& model) {
    return std::make_unique<BestNodes>(model, seeds.list_length(), /*embeddings=*/false);
  };
  predict_with_run(asked, data,
                   {lists, 2 * seeds.list_length(), rules.bytes_for(longest_of(lists)), objective},
                   [&](int64_t seed, size_t i, double /*loss*/, std::span<const float> found) {
                     const auto of_network = [&](size_t row, size_t j) {
                       return static_cast<uint32_t>(found[2 * length * row + j]);
                     };
                     results[i].networks.push_back(
                         {kNetwork, seed, std::nullopt, map_of(seeds, lists[i].graphs, of_network)});
                   });
  for (size_t i = 0; i < lists.size(); ++i)
    for (const std::string& name : FrequentDestinations::names()) {
      const auto nodes = rules.recommend(name, lists[i].graphs);
      const auto of_rule = [&](size_t row, size_t j) { return nodes[length * row + j]; };
      results[i].rules.push_back({.name = name, .figures = map_of(seeds, lists[i].graphs, of_rule)});
    }
  return results;
}

}  // namespace plimsoll

#include "tasks/relational/recommendation_evaluation.h"

#include <algorithm>

#include "engine/predict/list_predictor.h"
#include "nn/average_precision.h"
#include "nn/recommendation.h"
#include "tasks/classes/classes_evaluation.h"
#include "tasks/relational/frequent_destinations.h"
#include "tasks/relational/relational_model.h"

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
  const TypedSource& source = data.seeds();
  const TaskSeeds& seeds = source.seeds();
  const auto length = static_cast<size_t>(seeds.list_length());
  const auto shapes = read_shapes(source, asked.memory.threads);
  GnnModel model{
      .model = load_relational(asked.folder.model(asked.recipe), asked.recipe, source, data.identity_hash())};
  const BestNodes best(*model.model, seeds.list_length(), /*embeddings=*/false);
  const FrequentDestinations rules(data);
  std::vector<size_t> numbers;
  int64_t longest = 0;
  for (const NamedGraphList& list : lists) {
    numbers.push_back(list.graphs.size() * 2 * length);
    longest = std::max(longest, std::ssize(list.graphs));
  }
  ListPredictor predictor({.source = source,
                           .shapes = shapes,
                           .model = model,
                           .limits = limits_of(asked.recipe.training),
                           .memory = asked.memory,
                           .exchange = asked.exchange,
                           .device = asked.device,
                           .rehearsal = asked.rehearsal,
                           .lists = lists},
                          best, numbers, rules.bytes_for(longest));
  std::vector<RelationalResult> results;
  for (size_t i = 0; i < lists.size(); ++i) {
    const GraphList& list = lists[i].graphs;
    const std::span<const float> found = predictor.predict(i).outputs;
    const auto of_network = [&](size_t seed, size_t j) {
      return static_cast<uint32_t>(found[2 * length * seed + j]);
    };
    results.push_back(
        {lists[i].name, std::ssize(list), {{kNetwork, std::nullopt, map_of(seeds, list, of_network)}}});
    for (const std::string& name : FrequentDestinations::names()) {
      const auto nodes = rules.recommend(name, list);
      const auto of_rule = [&](size_t seed, size_t j) { return nodes[length * seed + j]; };
      results.back().models.push_back({name, std::nullopt, map_of(seeds, list, of_rule)});
    }
  }
  return results;
}

}  // namespace plimsoll

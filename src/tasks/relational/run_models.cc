#include "tasks/relational/run_models.h"

#include <algorithm>

#include "io/file_system.h"
#include "tasks/classes/classes_evaluation.h"
#include "tasks/relational/relational_model.h"

namespace plimsoll {
namespace {

// Returns the run's recipe for one of its seeds.
Recipe recipe_of(const RunEvaluation& asked, int64_t seed) {
  Recipe recipe = asked.recipe;
  recipe.seed = seed;
  return recipe;
}

// Returns the random seeds for which the run has a model, counting up from the recipe's own until one has
// none.
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

}  // namespace

std::unique_ptr<GraphModel> load_run_model(const RunEvaluation& asked, const RelationalData& data) {
  return load_model(asked, data, asked.recipe.seed);
}

void predict_with_run(const RunEvaluation& asked, const RelationalData& data, const RunPrediction& prediction,
                      const UseOutputs& use) {
  const auto shapes = read_shapes(data.source(), asked.memory.threads);
  std::vector<size_t> numbers;
  for (const NamedGraphList& list : prediction.lists)
    numbers.push_back(list.graphs.size() * static_cast<size_t>(prediction.outputs));
  for (const int64_t seed : trained_seeds(asked)) {
    GnnModel model{.model = load_model(asked, data, seed)};
    const auto objective = prediction.objective(*model.model);
    ListPredictor predictor({.source = data.source(),
                             .shapes = shapes,
                             .model = model,
                             .limits = limits_of(asked.recipe.training),
                             .memory = asked.memory,
                             .exchange = asked.exchange,
                             .device = asked.device,
                             .rehearsal = asked.rehearsal,
                             .lists = prediction.lists},
                            *objective, numbers, prediction.later);
    for (size_t list = 0; list < prediction.lists.size(); ++list) {
      const auto [loss, outputs] = predictor.predict(list);
      use(seed, list, loss, outputs);
    }
  }
}

std::vector<RelationalResult> results_of(const std::vector<NamedGraphList>& lists) {
  std::vector<RelationalResult> results;
  for (const NamedGraphList& list : lists)
    results.push_back({.split = list.name, .seeds = std::ssize(list.graphs)});
  return results;
}

int64_t longest_of(const std::vector<NamedGraphList>& lists) {
  int64_t longest = 0;
  for (const NamedGraphList& list : lists) longest = std::max(longest, std::ssize(list.graphs));
  return longest;
}

}  // namespace plimsoll

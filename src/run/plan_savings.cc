#include "run/plan_savings.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "run/recipe_change.h"
#include "run/task.h"

namespace plimsoll {
namespace {

std::vector<RecipeChange> changes_of(const Recipe& recipe) {
  std::vector<RecipeChange> changes = find_task(recipe.task).smaller_models(recipe);
  const BlockSection& block = recipe.training.block;
  changes.push_back(
      {fmt::format("training.block: {{graphs: {}, nodes: {}, edges: {}, seeds: {}}}",
                   std::max<int64_t>(block.graphs / 2, 1), std::max<int64_t>(block.nodes / 2, 1),
                   std::max<int64_t>(block.edges / 2, 1), std::max<int64_t>(block.seeds / 2, 1)),
       [](Recipe& r) {
         for (int64_t* limit : {&r.training.block.graphs, &r.training.block.nodes, &r.training.block.edges,
                                &r.training.block.seeds})
           *limit = std::max<int64_t>(*limit / 2, 1);
       }});
  if (recipe.training.gradient_checkpointing != GradientCheckpointing::on)
    changes.push_back({"training.gradient_checkpointing=on",
                       [](Recipe& r) { r.training.gradient_checkpointing = GradientCheckpointing::on; },
                       /*same_weights=*/true});
  return changes;
}

struct Need {
  int64_t block = 0;
  int64_t budget = 0;
};

// Plans the recipe with `change`, or unchanged if that is null. Automatic recomputation is switched off,
// because the plans could then differ in it.
Need need_of(RunRequest request, const RecipeChange* change) {
  if (request.recipe.training.gradient_checkpointing == GradientCheckpointing::automatic)
    request.recipe.training.gradient_checkpointing = GradientCheckpointing::off;
  if (change != nullptr) change->make(request.recipe);
  const StagePlans plans = plan_without_data(request);
  const MemoryPlan& plan = largest_budget(plans);
  return {plan.worst.peak_bytes, plan.min_budget};
}

}  // namespace

std::vector<Saving> savings_of(const RunRequest& request) {
  const Need now = need_of(request, nullptr);
  std::vector<Saving> savings;
  for (const RecipeChange& change : changes_of(request.recipe)) {
    try {
      const Need then = need_of(request, &change);
      if (then.block >= now.block && then.budget >= now.budget) continue;
      savings.push_back({change.text, now.block - then.block, now.budget - then.budget, change.same_weights});
    } catch (const UsageError&) {  // The changed recipe is invalid: for example, its heads do not divide its
                                   // width.
    }
  }
  std::ranges::stable_sort(savings, std::greater<>(), &Saving::budget_bytes);
  return savings;
}

}  // namespace plimsoll

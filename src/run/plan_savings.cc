#include "run/plan_savings.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace plimsoll {
namespace {

struct Change {
  std::string text;
  std::function<void(Recipe&)> make;
  bool same_weights = false;
};

void add_half(std::vector<Change>& changes, const std::string& key, int64_t now,
              std::function<int64_t&(Recipe&)> value_of) {
  if (now < 2) return;
  changes.push_back({fmt::format("{}={}", key, now / 2),
                     [value_of = std::move(value_of), now](Recipe& r) { value_of(r) = now / 2; }});
}

void add_gat(std::vector<Change>& changes, const std::string& section, const GatOptions& gat,
             const std::function<GatOptions&(Recipe&)>& gat_of) {
  add_half(changes, section + ".heads", gat.heads,
           [gat_of](Recipe& r) -> int64_t& { return gat_of(r).heads; });
  add_half(changes, section + ".hidden", gat.hidden,
           [gat_of](Recipe& r) -> int64_t& { return gat_of(r).hidden; });
  add_half(changes, section + ".layers", gat.layers,
           [gat_of](Recipe& r) -> int64_t& { return gat_of(r).layers; });
}

void add_vgae(std::vector<Change>& changes, const std::string& section, const VgaeOptions& vgae,
              const std::function<VgaeOptions&(Recipe&)>& vgae_of) {
  std::string halves;
  for (const int64_t width : vgae.hidden)
    halves += fmt::format("{}{}", halves.empty() ? "" : ", ", std::max<int64_t>(width / 2, 1));
  changes.push_back({fmt::format("{}.hidden=[{}]", section, halves), [vgae_of](Recipe& r) {
                       for (int64_t& width : vgae_of(r).hidden) width = std::max<int64_t>(width / 2, 1);
                     }});
}

void add_model(std::vector<Change>& changes, const Recipe& recipe) {
  const bool distils = recipe.task == TaskName::distillation;
  if (recipe.task == TaskName::detection || distils)
    add_gat(changes, "gat", recipe.gat, [](Recipe& r) -> GatOptions& { return r.gat; });
  if (recipe.task == TaskName::autoencoder || distils)
    add_vgae(changes, "vgae", recipe.vgae, [](Recipe& r) -> VgaeOptions& { return r.vgae; });
  if (distils) {
    add_gat(changes, "teacher.gat", recipe.teacher.gat,
            [](Recipe& r) -> GatOptions& { return r.teacher.gat; });
    add_vgae(changes, "teacher.vgae", recipe.teacher.vgae,
             [](Recipe& r) -> VgaeOptions& { return r.teacher.vgae; });
  }
  if (!changes.empty()) return;
  if (recipe.uses_paths()) {
    add_half(changes, "paths.hidden", recipe.paths.hidden,
             [](Recipe& r) -> int64_t& { return r.paths.hidden; });
    add_half(changes, "paths.layers", recipe.paths.layers,
             [](Recipe& r) -> int64_t& { return r.paths.layers; });
    add_half(changes, "paths.tile", recipe.paths.tile, [](Recipe& r) -> int64_t& { return r.paths.tile; });
    return;
  }
  add_half(changes, "gnn.heads", recipe.gnn.heads, [](Recipe& r) -> int64_t& { return r.gnn.heads; });
  add_half(changes, "gnn.hidden", recipe.gnn.hidden, [](Recipe& r) -> int64_t& { return r.gnn.hidden; });
  add_half(changes, "gnn.layers", recipe.gnn.layers, [](Recipe& r) -> int64_t& { return r.gnn.layers; });
}

std::vector<Change> changes_of(const Recipe& recipe) {
  std::vector<Change> changes;
  add_model(changes, recipe);
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

// Plans the changed recipe. If recomputation depends on the budget, it is switched off, because otherwise
// each plan would choose for itself.
Need need_of(RunRequest request, const Change* change) {
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
  for (const Change& change : changes_of(request.recipe)) {
    try {
      const Need then = need_of(request, &change);
      if (then.block >= now.block && then.budget >= now.budget) continue;
      savings.push_back({change.text, now.block - then.block, now.budget - then.budget, change.same_weights});
    } catch (const UsageError&) {  // The number of heads does not divide the width.
    }
  }
  std::ranges::stable_sort(savings, std::greater<>(), &Saving::budget_bytes);
  return savings;
}

}  // namespace plimsoll

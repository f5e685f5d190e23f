#include "run/plan_table.h"

#include <algorithm>

#include "base/error.h"
#include "run/task.h"
#include "store/data_set.h"
#include "store/graph.h"

namespace plimsoll {
std::optional<MemoryPlan::Speed> PlannedSetting::within(int64_t budget) const {
  std::optional<MemoryPlan::Speed> best;
  for (const MemoryPlan::Speed& at : plan.speed)
    if (std::max(at.budget, plan.min_budget) <= budget &&
        (!best || at.blocks_in_flight > best->blocks_in_flight))
      best = at;
  return best;
}

std::vector<PlannedSetting> plan_settings(RunRequest request) {
  if (!find_task(request.recipe.task).has_one_model())
    throw UsageError(
        "--table varies hidden channels and layers of one model, but task " + request.recipe.task +
        " has several models with separate sizes; leave out --table, and plan for one budget at a time");
  const bool giant = kind_of(request.data) == kGraphKind;
  const int64_t cap = request.memory.budget - request.memory.outside_ledger;
  request.memory.cap = cap;
  std::vector<PlannedSetting> settings;
  for (const int64_t quarters : {2, 4, 8})
    for (const int64_t fewer : {1, 0}) {
      RunRequest changed = request;
      const bool paths = changed.recipe.uses_paths();
      int64_t& hidden = paths ? changed.recipe.paths.hidden : changed.recipe.gnn.hidden;
      int64_t& layers = paths ? changed.recipe.paths.layers : changed.recipe.gnn.layers;
      if (fewer > 0 && (giant || layers == 1)) continue;
      hidden = std::max<int64_t>(hidden * quarters / 4, 2);
      layers -= fewer;
      PlannedSetting setting{hidden, layers, MemoryPlan()};
      Ledger::process().set_cap(cap);  // Planning a setting that is too large raises the cap.
      setting.plan = largest_budget(plan_within(changed));
      settings.push_back(std::move(setting));
    }
  return settings;
}

}  // namespace plimsoll

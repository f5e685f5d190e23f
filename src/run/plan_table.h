#pragma once

#include <optional>
#include <vector>

#include "run/plan_run.h"

namespace plimsoll {

/// A variant of the recipe's model with another size, and its plan.
struct PlannedSetting {
  int64_t hidden = 0;
  int64_t layers = 0;
  MemoryPlan plan;

  /// Returns the maximum number of blocks in flight within a budget, and the expected speed; nullopt if not
  /// even one block fits.
  std::optional<MemoryPlan::Speed> within(int64_t budget) const;
};

/// Plans the recipe's model with half, the same number of and twice its hidden channels, each with all layers
/// and, if there are several, with one layer fewer, within the budget of `request`. Sets the cap of the
/// ledger to this budget; planning a model that is too large raises it, permanently. For one giant graph the
/// number of layers does not change, because each layer needs its own hop of the sample. Errors: UsageError
/// for a task that trains several models; those of plan_within().
std::vector<PlannedSetting> plan_settings(RunRequest request);

}  // namespace plimsoll

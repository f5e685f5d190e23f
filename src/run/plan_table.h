#pragma once

#include <optional>
#include <vector>

#include "run/plan_run.h"

namespace plimsoll {

/// A model of another size than the recipe's, and its plan.
struct PlannedSetting {
  int64_t hidden = 0;
  int64_t layers = 0;
  MemoryPlan plan;

  /// The most blocks in flight that a budget has room for, and how fast that is; none: it has not for one.
  std::optional<MemoryPlan::Speed> within(int64_t budget) const;
};

/// Plans of the recipe's model with half, just and twice its hidden channels, each with one layer fewer and
/// with all, each planned for `budget`, in bytes, of which `run.outside_ledger` is not the ledger's. Of one
/// giant graph layers stay as they are, since each needs its hop. Errors: UsageError for a task whose model
/// has other sizes; those of plan_within().
std::vector<PlannedSetting> plan_settings(const TrainingInput& input, RunOptions run, int64_t budget);

}  // namespace plimsoll

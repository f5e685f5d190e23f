#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/plan_run.h"

namespace plimsoll {

/// A change of the recipe that makes a run need less.
struct Saving {
  std::string change;         ///< "gat.heads=2"
  int64_t block_bytes = 0;    ///< less at the peak of the worst block
  int64_t budget_bytes = 0;   ///< less of the smallest budget
  bool same_weights = false;  ///< the run's result stays as it is
};

/// What would shrink the stage that needs the largest budget: half the heads, hidden widths, block limits,
/// and running layers again in backward. Each is planned, without running anything, and so is the recipe as
/// it is; the most saving first, without those that save nothing. Errors: those of plan_without_data().
std::vector<Saving> savings_of(const TrainingInput& input, const RunOptions& run);

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/plan_run.h"

namespace plimsoll {

/// A change to the recipe that reduces the memory of a run.
struct Saving {
  std::string change;         ///< Text such as "gat.heads=2".
  int64_t block_bytes = 0;    ///< Bytes saved at the peak of the worst block.
  int64_t budget_bytes = 0;   ///< Bytes saved in the minimum budget.
  bool same_weights = false;  ///< Whether the run's result stays the same.
};

/// Finds changes that reduce the memory of the stage with the largest budget: halving the heads, hidden
/// widths or block limits, and recomputing layers in the backward pass. Plans the recipe and each change
/// without running anything. Returns the changes that save memory, largest saving first. Errors: those of
/// plan_without_data().
std::vector<Saving> savings_of(const RunRequest& request);

}  // namespace plimsoll

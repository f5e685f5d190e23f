#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/plan_run.h"

namespace plimsoll {

/// A change to the recipe that reduces the memory of a run.
struct Saving {
  std::string change;         ///< Text such as "gat.heads=2".
  int64_t block_bytes = 0;    ///< Bytes saved at the peak of the worst block; may be negative.
  int64_t budget_bytes = 0;   ///< Bytes saved in the minimum budget; may be negative.
  bool same_weights = false;  ///< Whether the run's result stays the same.
};

/// Finds changes that reduce the memory of the stage with the largest budget: halving one size of the model
/// (Task::smaller_models()), halving all block limits, or recomputing layers in the backward pass. Plans the
/// recipe and each change without running anything. Returns the changes that save block_bytes or
/// budget_bytes, the largest budget_bytes first. Leaves out changes that make the recipe invalid. Errors:
/// those of plan_without_data().
std::vector<Saving> savings_of(const RunRequest& request);

}  // namespace plimsoll

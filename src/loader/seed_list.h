#pragma once

#include <cstdint>

#include "loader/batch_list.h"

namespace plimsoll {

/// Rules for putting the seeds of an epoch into batches.
struct SeedBatching {
  int64_t batch_size = 1;
  bool drop_last = false;  ///< Leave out the last batch if it has fewer seeds than the other batches.
  bool shuffle = false;
  uint64_t seed = 0;
};

/// Returns the batches of one rank in an epoch over `count` seeds, as indices 0 .. count-1. The shuffle
/// depends only on (seed, epoch). If the number of seeds is not divisible by the number of ranks, the order
/// is extended with its first seeds, as in torch's DistributedSampler, or, with drop_last, cut, so that all
/// ranks have the same number of batches. Errors: BudgetExceeded.
BatchList list_seeds(int64_t count, const SeedBatching& batching, uint32_t epoch, const Share& share);

/// Returns the number of batches that list_seeds() returns.
int64_t count_batches(int64_t count, const SeedBatching& batching, const Share& share);

}  // namespace plimsoll

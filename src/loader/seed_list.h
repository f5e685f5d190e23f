#pragma once

#include <cstdint>

#include "loader/batch_list.h"

namespace plimsoll {

/// How the seeds of an epoch are put into batches.
struct SeedBatching {
  int64_t batch_size = 1;
  bool drop_last = false;  ///< leave the last batch out where it has fewer seeds
  bool shuffle = false;
  uint64_t seed = 0;
};

/// The batches of an epoch over `count` seeds, as numbers 0 .. count-1, of one rank: shuffled by (seed,
/// epoch) alone. Where the seeds do not divide by the ranks they begin again, as in torch's
/// DistributedSampler, or with drop_last end sooner, so that all ranks have as many batches. Errors:
/// BudgetExceeded.
BatchList list_seeds(int64_t count, const SeedBatching& batching, uint32_t epoch, const Share& share);

/// How many batches that list has.
int64_t count_batches(int64_t count, const SeedBatching& batching, const Share& share);

}  // namespace plimsoll

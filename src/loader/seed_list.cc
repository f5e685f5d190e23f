#include "loader/seed_list.h"

#include <algorithm>
#include <numeric>

namespace plimsoll {

namespace {

// Returns the number of seeds of a rank.
int64_t seeds_of_rank(int64_t count, const SeedBatching& batching, const Share& share) {
  if (!batching.drop_last) return (count + share.ranks - 1) / share.ranks;
  return count / share.ranks / batching.batch_size * batching.batch_size;
}

}  // namespace

int64_t count_batches(int64_t count, const SeedBatching& batching, const Share& share) {
  // A batch size may be the greatest int64, to which nothing can be added.
  const int64_t seeds = seeds_of_rank(count, batching, share);
  return seeds / batching.batch_size + (seeds % batching.batch_size > 0 ? 1 : 0);
}

BatchList list_seeds(int64_t count, const SeedBatching& batching, uint32_t epoch, const Share& share) {
  GraphList order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  if (batching.shuffle) shuffle(order, batching.seed, epoch);
  const int64_t taken = seeds_of_rank(count, batching, share);
  BatchList list;
  if (share.ranks == 1) {
    list.graphs = std::move(order);
    list.graphs.resize(static_cast<size_t>(taken));
  } else {
    for (int64_t i = 0; i < taken; ++i)
      list.graphs.push_back(order[static_cast<size_t>((i * share.ranks + share.rank) % count)]);
  }
  for (int64_t end = 0; end < taken;) {
    end = std::min(end + batching.batch_size, taken);
    list.begins.push_back(end);
  }
  return list;
}

}  // namespace plimsoll

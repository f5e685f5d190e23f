#include "engine/plan/blocks_ahead.h"

#include <algorithm>
#include <optional>
#include <set>

namespace plimsoll {
namespace {

// Assumed rates of a modest disk and of a worker.
constexpr double kDiskBytesPerS = 1e9;
constexpr double kDiskScatteredReadsPerS = 50'000;
constexpr double kMemoryBytesPerS = 2e9;
constexpr double kMinGain = 0.1;

double predicted_seconds(const ReadingCost& cost, const BlocksAhead& ahead, int64_t graph_bytes) {
  const double graphs =
      static_cast<double>(cost.training) + kForwardShare * static_cast<double>(cost.validating);
  const double read = cost.read / kDiskBytesPerS + cost.scattered_reads / kDiskScatteredReadsPerS;
  const double computed = graphs * static_cast<double>(graph_bytes) / kMemoryBytesPerS;
  const double waited = ahead.prefetch > 0 ? 0 : read;
  return std::max(read + cost.written / kDiskBytesPerS, (computed + waited) / ahead.blocks);
}

}  // namespace

BlocksAhead choose_blocks(const BlockSource& source, const BlocksAhead& max, int64_t graph_bytes,
                          const std::function<LeftByBlocks(const BlocksAhead&)>& divide) {
  if (divide(max).cache_bytes >= source.max_cache_bytes()) return max;  // No row is missing from the cache.
  std::optional<BlocksAhead> best;
  double best_seconds = 0;
  const auto consider = [&](const BlocksAhead& asked) {
    const LeftByBlocks left = divide(asked);
    const BlocksAhead ahead{asked.blocks, left.prefetch};
    const auto cost = source.reading_cost(std::max<int64_t>(left.cache_bytes, 0));
    if (!cost) return;
    const double seconds = predicted_seconds(*cost, ahead, graph_bytes);
    const double gain = !best || ahead.blocks == best->blocks ? 0 : kMinGain;
    if (best && seconds >= (1 - gain) * best_seconds) return;
    best = ahead;
    best_seconds = seconds;
  };
  for (int blocks = max.blocks; blocks > 0; blocks /= 2)
    for (const int64_t prefetch : std::set{max.prefetch, std::min<int64_t>(max.prefetch, 1), int64_t{0}})
      consider({blocks, prefetch});
  return best.value_or(max);
}

}  // namespace plimsoll

#include "engine/plan/blocks_ahead.h"

#include <algorithm>
#include <optional>

namespace plimsoll {
namespace {

// Rates of a modest disk. They are not measured, so that a budget is divided in the same way every time.
constexpr double kNominalBytesPerS = 1e9;
constexpr double kNominalPiecesPerS = 50'000;
constexpr double kMinGain = 0.1;

double predicted_seconds(const ReadingCost& cost, const BlocksAhead& ahead, double seconds_per_graph) {
  const double graphs =
      static_cast<double>(cost.training) + kForwardShare * static_cast<double>(cost.validating);
  const double read = cost.read / kNominalBytesPerS + cost.pieces / kNominalPiecesPerS;
  const double waited = ahead.prefetch > 0 ? 0 : read;
  return std::max(read + cost.written / kNominalBytesPerS,
                  (graphs * seconds_per_graph + waited) / ahead.blocks);
}

}  // namespace

BlocksAhead choose_blocks(const BlockSource& source, const BlocksAhead& max, double seconds_per_graph,
                          const std::function<int64_t(const BlocksAhead&)>& cache_bytes) {
  if (cache_bytes(max) >= source.max_cache_bytes()) return max;  // Nothing is missing.
  std::optional<BlocksAhead> best;
  double best_seconds = 0;
  const auto consider = [&](const BlocksAhead& ahead) {
    const auto cost = source.reading_cost(std::max<int64_t>(cache_bytes(ahead), 0));
    if (!cost) return;
    const double seconds = predicted_seconds(*cost, ahead, seconds_per_graph);
    const double gain = !best || ahead.blocks == best->blocks ? 0 : kMinGain;
    if (best && seconds >= (1 - gain) * best_seconds) return;
    best = ahead;
    best_seconds = seconds;
  };
  for (int blocks = max.blocks; blocks > 0; blocks /= 2) {
    for (const int64_t prefetch : {max.prefetch, int64_t{1}, int64_t{0}})
      if (prefetch <= max.prefetch) consider({blocks, prefetch});
    if (seconds_per_graph == 0) break;
  }
  return best.value_or(max);
}

}  // namespace plimsoll

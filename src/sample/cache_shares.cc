#include "sample/cache_shares.h"

#include <algorithm>
#include <cmath>

#include "sample/bulk_sampler.h"
#include "store/row_sweep.h"

namespace plimsoll {
namespace {

// The part of a block's rows that no other block wants while it is planned, roughly.
constexpr double kOwnRows = 0.5;
// Blocks that are sampled at a time, for each whose rows are planned: at least and at most.
constexpr double kLeastGroup = 1.0 / 4;
constexpr double kMostGroup = 4;

}  // namespace

SampleSizes SampleSizes::of(std::span<const GraphShape> shapes) {
  SampleSizes sizes;
  const auto blocks = static_cast<double>(shapes.size());
  for (const GraphShape& shape : shapes) {
    sizes.most_bytes = std::max(sizes.most_bytes, BulkSampler::bytes_for(shape.nodes, shape.edges));
    sizes.nodes += static_cast<double>(shape.nodes) / blocks;
    sizes.edges += static_cast<double>(shape.edges) / blocks;
  }
  return sizes;
}

CacheShares divide_cache(int64_t bytes, const SampleSizes& sizes, const FeatureFile& rows, int64_t hops,
                         int64_t topology_bytes) {
  const double sample = 12 * sizes.nodes + 4 * sizes.edges;  // as it is kept
  const auto scratch = static_cast<double>(sizes.most_bytes);
  const double own =
      kOwnRows * sizes.nodes * static_cast<double>(rows.layout().row_bytes + RowSweep::kRowBytes);
  const auto all_rows = static_cast<double>(rows.rows * rows.layout().row_bytes);
  const auto topology = static_cast<double>(topology_bytes);
  const double lists = topology * static_cast<double>(hops);

  // The derivatives of all_rows / window + lists / (group * window) with what a block of either costs.
  const double best = std::sqrt(lists / all_rows * (sample + own) / scratch);
  const double group = std::clamp(best, kLeastGroup, kMostGroup);
  const double window = static_cast<double>(bytes) / (sample + own + group * scratch);
  const double read = all_rows / window + lists / (group * window);

  constexpr int64_t kGroup = CacheShares::kGroupInMemory;
  const double left = static_cast<double>(bytes) - topology - kGroup * scratch;
  const double window_beside = left / (sample + own);
  if (left > 0 && all_rows / window_beside < read)
    return {true, static_cast<int64_t>(window_beside * sample + kGroup * scratch), kGroup};
  return {false, static_cast<int64_t>(window * (sample + group * scratch)),
          static_cast<int64_t>(group * window)};
}

}  // namespace plimsoll

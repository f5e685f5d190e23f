#include "sample/neighbour/cache_shares.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "rows/shared_scan.h"
#include "rows/spilled_features.h"
#include "sample/neighbour/block_sampler.h"

namespace plimsoll {
namespace {

// The part of a block's rows that no other block wants while it is planned, roughly.
constexpr double kOwnRows = 0.5;
// Blocks that are sampled at a time, for each whose rows are planned: at least and at most.
constexpr double kLeastGroup = 1.0 / 4;
constexpr double kMostGroup = 4;

constexpr int64_t kLargestPackedGroup = 1024;
// The smallest scratch file that is tried is this part of the largest.
constexpr int64_t kLeastScratch = 64;

// A way to divide, and the bytes that are read and written for a block then.
struct Way {
  CacheShares shares = {};
  double cost = std::numeric_limits<double>::infinity();
};

Way by_sweeps(const CacheInput& input) {
  const SampleSizes& sizes = input.sizes;
  const double sample = 12 * sizes.nodes + sizes.edge_bytes();  // as it is kept
  const auto scratch = static_cast<double>(sizes.most_bytes);
  const double own =
      kOwnRows * sizes.nodes * static_cast<double>(input.rows.layout().row_bytes + SharedScan::kRowBytes);
  const auto all_rows = static_cast<double>(input.rows.rows * input.rows.layout().row_bytes);
  const auto topology = static_cast<double>(input.topology_bytes);
  const double lists = topology * static_cast<double>(input.hops);
  const auto bytes = static_cast<double>(input.bytes);

  if (input.sampled) {
    const auto kept = static_cast<double>(CacheShares::kGroupInMemory * sizes.most_kept());
    const double window = std::max(bytes - kept, 1.0) / (sample + own);
    return {{0, false, static_cast<int64_t>(window * sample + kept), CacheShares::kGroupInMemory},
            all_rows / window};
  }
  // The derivatives of all_rows / window + lists / (group * window) with what a block of either costs.
  const double best = std::sqrt(lists / all_rows * (sample + own) / scratch);
  const double group = std::clamp(best, kLeastGroup, kMostGroup);
  const double window = bytes / (sample + own + group * scratch);
  const double read = all_rows / window + lists / (group * window);

  constexpr int64_t kGroup = CacheShares::kGroupInMemory;
  const double left = bytes - topology - kGroup * scratch;
  const double window_beside = left / (sample + own);
  if (left > 0 && all_rows / window_beside < read)
    return {{0, true, static_cast<int64_t>(window_beside * sample + kGroup * scratch), kGroup},
            all_rows / window_beside};
  return {{0, false, static_cast<int64_t>(window * (sample + group * scratch)),
           static_cast<int64_t>(group * window)},
          read};
}

// How many rows are used how often.
using UseCounts = std::array<int64_t, std::numeric_limits<uint8_t>::max() + 1>;

UseCounts counts_of(std::span<const uint8_t> uses) {
  UseCounts counts{};
  for (const uint8_t used : uses) ++counts[used];
  return counts;
}

// The part of all uses that falls on so many rows, those that are used most.
double part_of_uses(const UseCounts& counts, int64_t rows) {
  int64_t all = 0, of_rows = 0;
  for (size_t used = counts.size(); used-- > 0;) {
    const auto times = static_cast<int64_t>(used);
    all += counts[used] * times;
    const int64_t some = std::min(rows, counts[used]);
    of_rows += some * times;
    rows -= some;
  }
  return all > 0 ? static_cast<double>(of_rows) / static_cast<double>(all) : 0;
}

// What a block's rows and sample take is written once and read once, and a pass over all rows serves a round.
Way by_packs(const CacheInput& input, const UseCounts& counts, int64_t scratch, bool topology,
             int64_t group) {
  const SampleSizes& sizes = input.sizes;
  const int64_t ahead = (group + 2) * (input.sampled ? sizes.most_kept() : sizes.most_bytes);
  const RowLayout layout = input.rows.layout();
  const SpilledFeatures::Options packs{.bytes = input.bytes - ahead - (topology ? input.topology_bytes : 0),
                                       .scratch_bytes = scratch,
                                       .most_rows = sizes.most_nodes,
                                       .most_note = input.sampled ? 0 : sizes.most_note};
  if (packs.bytes <= 0) return {};
  const int64_t kept = SpilledFeatures::kept_rows(layout, packs);
  if (kept < 0) return {};
  const double missed = sizes.nodes * (1 - part_of_uses(counts, kept));
  const double note = input.sampled ? 0 : 8 * sizes.nodes + sizes.edge_bytes();
  const double block = missed * static_cast<double>(layout.row_bytes) + note;
  const double blocks = static_cast<double>(SpilledFeatures::round_bytes(packs)) / block;
  // A pass reads kept rows as well: they lie between the others.
  const auto pass = static_cast<double>(input.rows.rows * layout.row_bytes);
  const double lists = topology || input.sampled ? 0
                                                 : static_cast<double>(input.topology_bytes * input.hops) /
                                                       static_cast<double>(group);
  return {{scratch, topology, ahead, group}, 2 * block + pass / blocks + lists};
}

}  // namespace

SampleSizes SampleSizes::of(std::span<const GraphShape> shapes, int64_t hops, int64_t edge_width) {
  SampleSizes sizes{.edge_width = edge_width};
  const auto blocks = static_cast<double>(shapes.size());
  for (const GraphShape& shape : shapes) {
    sizes.most_bytes =
        std::max(sizes.most_bytes, BulkSampler::bytes_for(shape.nodes, shape.edges, edge_width));
    sizes.most_nodes = std::max<int64_t>(sizes.most_nodes, shape.nodes);
    sizes.most_note = std::max(sizes.most_note, BlockSample::most_bytes(shape, hops, edge_width));
    sizes.nodes += static_cast<double>(shape.nodes) / blocks;
    sizes.edges += static_cast<double>(shape.edges) / blocks;
  }
  return sizes;
}

CacheShares divide_cache(const CacheInput& input) {
  Way best = by_sweeps(input);
  const bool rows_fit = input.bytes - best.shares.ahead_bytes >= SharedScan::most_bytes(input.rows.layout());
  if (input.scratch_bytes == 0 || rows_fit) return best.shares;
  const auto consider = [&](const Way& way) {
    if (way.cost < best.cost) best = way;
  };
  const UseCounts counts = counts_of(input.uses);
  // Packs of a smaller file need less memory.
  for (int64_t scratch = input.scratch_bytes; scratch > input.scratch_bytes / kLeastScratch; scratch /= 2) {
    consider(by_packs(input, counts, scratch, !input.sampled, CacheShares::kGroupInMemory));
    if (input.sampled) continue;
    for (int64_t group = 1; group <= kLargestPackedGroup; group *= 2)
      consider(by_packs(input, counts, scratch, false, group));
  }
  return best.shares;
}

}  // namespace plimsoll

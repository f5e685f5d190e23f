#include "sample/neighbour/cache_shares.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rows/shared_scan.h"
#include "rows/spilled_features.h"
#include "rows/whole_batches.h"
#include "sample/neighbour/block_sampler.h"
#include "sample/neighbour/narrow_numbers.h"
#include "sample/neighbour/row_uses.h"

namespace plimsoll {
namespace {

// Approximate share of a block's rows that no other block needs while it is planned.
constexpr double kOwnRows = 0.5;
// Minimum and maximum number of blocks sampled together, per block whose rows are planned.
constexpr double kMinGroup = 1.0 / 4;
constexpr double kMaxGroup = 4;

constexpr int64_t kLargestPackedGroup = 1024;
// The smallest scratch file tried is the largest one divided by this.
constexpr int64_t kMinScratch = 64;

// A division of memory and its cost per block in bytes read and written. A pass over a file counts the whole
// file.
struct Division {
  CacheShares shares;
  double cost = std::numeric_limits<double>::infinity();
};

// Reads per block in a pass over the rows that a window of blocks needs.
struct ReadForBlock {
  double scattered_reads = 0;
  double bytes = 0;
};

// Assumes that rows are spread at random, so that gaps between them follow a geometric distribution; short
// gaps are read, too.
ReadForBlock read_for_block(const CacheInput& input, const RowUses& uses, double window) {
  constexpr double kEnds = 512;  // Extra bytes per read, because its first and last sectors are read whole.
  const auto row_bytes = static_cast<double>(input.rows.layout().row_bytes);
  const auto all = static_cast<double>(input.rows.rows);
  if (input.counted_blocks == 0) return {input.sizes.nodes, all * row_bytes / window};
  const double blocks = std::max(window, 1.0);
  const double rows = uses.distinct(blocks);
  const double density = std::clamp(rows / all, 1 / all, 1.0);
  const double gap = std::floor(static_cast<double>(SharedScan::kLongestGap) / row_bytes);
  const double longer = std::pow(1 - density, gap);  // Share of gaps that are longer.
  const double scattered_reads = rows * longer;
  // Average number of rows in a gap that is short enough to be read.
  const double between = (1 - density) / density * (1 - longer * (1 + gap * density));
  return {scattered_reads / blocks, (rows * (1 + between) * row_bytes + scattered_reads * kEnds) / blocks};
}

Division by_sweeps(const CacheInput& input, const RowUses& uses) {
  const SampleSizes& sizes = input.sizes;
  // Bytes of a sample in memory.
  const double sample = (sizes.row_places ? 20 : 12) * sizes.nodes + sizes.edge_bytes();
  const auto scratch = static_cast<double>(sizes.max_bytes);
  const double own =
      kOwnRows * sizes.nodes * static_cast<double>(input.rows.layout().row_bytes + SharedScan::kRowBytes);
  const auto all_rows = static_cast<double>(input.rows.rows * input.rows.layout().row_bytes);
  const auto topology = static_cast<double>(input.topology_bytes);
  const double lists = topology * static_cast<double>(input.hops);
  const auto bytes = static_cast<double>(input.bytes);
  const auto division = [&](bool with_topology, double ahead, double group, double window, double of_lists) {
    const ReadForBlock rows = read_for_block(input, uses, window);
    return Division{{.topology = with_topology,
                     .ahead_bytes = static_cast<int64_t>(ahead),
                     .group = static_cast<int64_t>(group),
                     .bytes_read = rows.bytes + of_lists,
                     .scattered_reads = rows.scattered_reads},
                    all_rows / window + of_lists};
  };

  constexpr int64_t kGroup = CacheShares::kGroupInMemory;
  if (input.sampled) {
    const auto kept = static_cast<double>(kGroup * sizes.max_kept());
    const double window = std::max(bytes - kept, 1.0) / (sample + own);
    return division(false, window * sample + kept, kGroup, window, 0);
  }
  // Minimises all_rows / window + lists / (group * window), given the memory that both need, by setting the
  // derivative to 0.
  const double best = std::sqrt(lists / all_rows * (sample + own) / scratch);
  const double group = std::clamp(best, kMinGroup, kMaxGroup);
  const double window = bytes / (sample + own + group * scratch);
  const double of_lists = lists / (group * window);

  const double left = bytes - topology - kGroup * scratch;
  const double window_with_topology = left / (sample + own);
  if (left > 0 && all_rows / window_with_topology < all_rows / window + of_lists)
    return division(true, window_with_topology * sample + kGroup * scratch, kGroup, window_with_topology, 0);
  return division(false, window * (sample + group * scratch), group * window, window, of_lists);
}

// The rows and sample of a block are written once and read once, and a pass over all rows serves a round.
Division by_packs(const CacheInput& input, const RowUses& uses, int64_t scratch, bool topology,
                  int64_t group) {
  const SampleSizes& sizes = input.sizes;
  const int64_t ahead = (group + 2) * (input.sampled ? sizes.max_kept() : sizes.max_bytes);
  const RowLayout layout = input.rows.layout();
  const SpilledFeatures::Options packs{.bytes = input.bytes - ahead - (topology ? input.topology_bytes : 0),
                                       .scratch_bytes = scratch,
                                       .max_rows = sizes.max_nodes,
                                       .max_note = input.sampled ? 0 : sizes.max_note};
  if (packs.bytes <= 0) return {};
  const int64_t kept = SpilledFeatures::kept_rows(layout, packs);
  if (kept < 0) return {};
  const double rows = input.counted_blocks == 0 ? sizes.nodes
                                                : uses.without_most_used(kept).packed(static_cast<double>(
                                                      SpilledFeatures::pack_rows(layout, packs)));
  const double row_bytes = rows * static_cast<double>(layout.row_bytes);
  const double note = sizes.note_bytes(input.rows.rows);
  const double block = input.sampled ? row_bytes : row_bytes + note;
  const double blocks = static_cast<double>(SpilledFeatures::round_bytes(packs)) / block;
  // A pass also reads kept rows, because they are between the others.
  const auto pass = static_cast<double>(input.rows.rows * layout.row_bytes);
  const double lists = topology || input.sampled ? 0
                                                 : static_cast<double>(input.topology_bytes * input.hops) /
                                                       static_cast<double>(group);
  // A sample from the sample file is read to plan the pack, and again with its rows.
  const double notes = input.sampled ? 2 * note : note;
  const double read = row_bytes + notes + pass / blocks + lists;
  return {{scratch, false, topology, ahead, group, read, block}, read + block};
}

// The rows of a block are written once and read once, with a list of them, and a pass over all rows serves a
// round.
Division by_whole_batches(const CacheInput& input, const RowUses& uses, int64_t scratch) {
  const SampleSizes& sizes = input.sizes;
  const int64_t ahead = (1 + WholeBatches::kReaders) * sizes.max_reserved();
  const RowLayout layout = input.rows.layout();
  const WholeBatches::Options options{.bytes = input.bytes + input.bytes_of_reader - ahead,
                                      .scratch_bytes = scratch,
                                      .max_rows = sizes.max_nodes};
  if (options.bytes <= 0) return {};
  const int64_t kept = WholeBatches::kept_rows(layout, options);
  if (kept < 0) return {};
  const double rows = input.counted_blocks == 0 ? sizes.nodes : uses.without_most_used(kept).distinct(1);
  const auto [written, read_back] = WholeBatches::bytes_of_batch(layout, options, rows);
  const double blocks = std::max(static_cast<double>(WholeBatches::round_bytes(options)) / written, 1.0);
  const auto pass = static_cast<double>(input.rows.rows * layout.row_bytes);
  const double read = read_back + 2 * sizes.note_bytes(input.rows.rows) + pass / blocks;
  return {{scratch, true, false, ahead, 1, read, written}, read + written};
}

}  // namespace

SampleSizes SampleSizes::of(std::span<const GraphShape> shapes, std::span<const GraphShape> prefixes,
                            const RowWidths& widths) {
  const int64_t edge_width = widths.edge_features;
  SampleSizes sizes{.edge_width = edge_width, .row_places = widths.row_places};
  const auto blocks = static_cast<double>(shapes.size());
  const size_t hops = shapes.empty() ? 0 : prefixes.size() / shapes.size();
  for (size_t s = 0; s < shapes.size(); ++s) {
    const GraphShape& shape = shapes[s];
    const int64_t of_rows = widths.row_places ? int64_t{shape.nodes} * 8 : 0;
    sizes.max_bytes =
        std::max(sizes.max_bytes, BulkSampler::bytes_for(shape.nodes, shape.edges, edge_width) + of_rows);
    sizes.max_nodes = std::max<int64_t>(sizes.max_nodes, shape.nodes);
    sizes.max_edges = std::max<int64_t>(sizes.max_edges, shape.edges);
    sizes.max_pairs = std::max<int64_t>(sizes.max_pairs, shape.pairs);
    sizes.max_note = std::max(sizes.max_note, BlockSample::max_bytes(shape, prefixes.subspan(s * hops, hops),
                                                                     widths.hops, edge_width));
    sizes.nodes += static_cast<double>(shape.nodes) / blocks;
    sizes.edges += static_cast<double>(shape.edges) / blocks;
  }
  return sizes;
}

double SampleSizes::note_bytes(int64_t rows) const {
  const auto of_node = 1 + NarrowNumbers::width(static_cast<uint64_t>(rows));  // With its in-degree.
  const auto of_edge = NarrowNumbers::width(static_cast<uint64_t>(max_nodes)) + 4 * edge_width;
  return of_node * nodes + static_cast<double>(of_edge) * edges;
}

void SampleSizes::raise(int64_t nodes_of_block, int64_t edges_of_block, int64_t note) {
  const int64_t of_rows = row_places ? nodes_of_block * 8 : 0;
  max_bytes =
      std::max(max_bytes, BulkSampler::bytes_for(nodes_of_block, edges_of_block, edge_width) + of_rows);
  max_nodes = std::max(max_nodes, nodes_of_block);
  max_edges = std::max(max_edges, edges_of_block);
  max_note = std::max(max_note, note);
}

int64_t SampleSizes::max_reserved() const {
  const int64_t of_edges = max_edges * 4 * (1 + edge_width);
  constexpr int64_t kPairBytes = 2 * sizeof(int32_t) + sizeof(float);
  return (row_places ? 20 : 12) * max_nodes + of_edges + kPairBytes * max_pairs + 16 * 1024;
}

CacheShares divide_cache(const CacheInput& input) {
  const RowUses uses(input.uses, input.counted_blocks, input.sizes.nodes);
  Division best = by_sweeps(input, uses);
  // Samples are read in every case.
  const double sample = input.sampled ? input.sizes.note_bytes(input.rows.rows) : 0;
  best.shares.bytes_read += sample;
  best.cost += sample;
  const bool rows_fit = input.bytes - best.shares.ahead_bytes >= SharedScan::max_bytes(input.rows.layout());
  if (rows_fit) {  // All rows stay in memory.
    best.shares.scattered_reads = 0;
    best.shares.bytes_read = sample;
  }
  const bool none_come = input.counted_blocks > 0 && uses.distinct(1) == 0;
  if (input.scratch_bytes == 0 || rows_fit || none_come) return best.shares;
  const auto consider = [&](const Division& division) {
    if (division.cost < best.cost) best = division;
  };
  // Packs of a smaller file need less memory.
  for (int64_t scratch = input.scratch_bytes; scratch > input.scratch_bytes / kMinScratch; scratch /= 2) {
    consider(by_packs(input, uses, scratch, !input.sampled, CacheShares::kGroupInMemory));
    if (input.sampled) {
      consider(by_whole_batches(input, uses, scratch));
      continue;
    }
    for (int64_t group = 1; group <= kLargestPackedGroup; group *= 2)
      consider(by_packs(input, uses, scratch, false, group));
  }
  return best.shares;
}

}  // namespace plimsoll

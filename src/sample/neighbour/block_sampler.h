#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>

#include "rows/row_set.h"
#include "sample/block/block.h"
#include "sample/neighbour/bulk_sampler.h"
#include "sample/neighbour/predicted_edges.h"
#include "sample/seeds/link_seeds.h"
#include "sample/seeds/seed_blocks.h"
#include "store/graph.h"

namespace plimsoll {

/// The sample of a block of seeds, without features.
struct BlockSample {
  int64_t number = 0;  ///< Number of the block.
  SampledBatch batch = {};
  Vector<int64_t, Tag::blocks> labels = {};  ///< Labels of the seeds, if seeds are nodes.
  Vector<int32_t, Tag::blocks> pairs = {};   ///< Same as in GraphBlock, if seeds are edges.
  Vector<float, Tag::blocks> pair_y = {};
  std::optional<Vector<int64_t, Tag::blocks>> some_rows = {};  ///< Set by choose_rows().

  /// Restricts rows() to nodes that are not in `left_out`; null selects all nodes.
  void choose_rows(const RowSet* left_out);
  /// Feature rows to read for the block, in the order of its nodes.
  std::span<const int64_t> rows() const { return some_rows ? std::span(*some_rows) : std::span(batch.node); }
  int64_t bytes() const;  ///< Bytes held for `batch` and the rows.
  /// Allocates memory for a sample of up to this size. Errors: BudgetExceeded.
  void reserve(int64_t nodes, int64_t edges, int64_t edge_width);
  /// Number of pairs that are edges to predict rather than negative pairs.
  int64_t targets() const { return std::ranges::count(pair_y, 1.0F); }

  /// Returns the shape of the sample, and writes the shapes of its parts within 0, 1, ... hops to `prefixes`.
  GraphShape shape(std::span<GraphShape> prefixes) const;

  /// Serialises the sample to `to`. The result has at most max_bytes() of its shape.
  void write(Vector<std::byte, Tag::blocks>& to) const;
  /// Reads what write() wrote, reusing the memory of this sample. Errors: Failure if it is damaged;
  /// BudgetExceeded.
  void read(std::span<const std::byte> from);
  /// Returns the maximum bytes that write() makes of a sample of this shape. `prefixes` has the prefixes of
  /// the shape (BlockSource::prefix_shapes), or is empty if they are not known.
  static int64_t max_bytes(const GraphShape& shape, std::span<const GraphShape> prefixes, int64_t hops,
                           int64_t edge_width);
};

/// Makes the samples of blocks of seeds. They depend only on the block numbers and a seed. Use one sampler
/// per thread; the objects in `from` must outlive it.
class BlockSampler {
 public:
  struct From {
    const Topology& topology;
    const GraphView& graph;
    const SeedBlocks& blocks;
    NeighbourOptions neighbours;
    uint64_t seed = 0;
    /// Negative pairs per seed edge; unset: seeds are nodes.
    std::optional<int64_t> negatives = {};
    bool exclude_targets = false;  ///< Leave the seed edges, in both directions, out of the samples.

    /// Returns the maximum bytes of memory needed to leave `edges` seed edges out of samples.
    int64_t bytes_for_targets(int64_t edges) const {
      return negatives && exclude_targets ? PredictedEdges::bytes_for(edges) : 0;
    }
  };
  /// Errors: those of BulkSampler and LinkSeeds.
  explicit BlockSampler(const From& from);

  /// Samples many blocks at once: samples[i] becomes the sample of block numbers[i]. Returns false if it was
  /// stopped. After that, and after an error, the samples are undefined. Errors: those of
  /// BulkSampler::sample() and of LinkSeeds::make().
  bool sample(std::span<const int64_t> numbers, std::span<BlockSample> samples,
              const std::stop_token& stop = {});
  void sample(int64_t number, BlockSample& sample) { this->sample({&number, 1}, {&sample, 1}); }
  /// Frees scratch memory that is kept for the next call.
  void forget() {
    neighbours_.forget();
    if (targets_) targets_.emplace();
  }

 private:
  void find_targets(std::span<const BlockSample> samples);

  const SeedBlocks& blocks_;
  const Topology& topology_;
  BulkSampler neighbours_;
  std::optional<LinkSeeds> links_;
  std::optional<PredictedEdges> targets_;
  Vector<SampledBatch, Tag::blocks> batches_;
};

}  // namespace plimsoll

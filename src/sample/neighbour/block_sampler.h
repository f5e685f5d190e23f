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

/// What was sampled for a block of seeds, without features.
struct BlockSample {
  int64_t number = 0;  ///< of the block
  SampledBatch batch = {};
  Vector<int64_t, Tag::blocks> labels = {};  ///< of the seeds, where they are nodes
  Vector<int32_t, Tag::blocks> pairs = {};   ///< as in GraphBlock, where seeds are edges
  Vector<float, Tag::blocks> pair_y = {};
  std::optional<Vector<int64_t, Tag::blocks>> some_rows = {};  ///< choose_rows()

  /// Which rows of features rows() are: of nodes that `left_out` does not have; null: of all.
  void choose_rows(const RowSet* left_out);
  /// The rows of features that are read for the block, in the order of its nodes.
  std::span<const int64_t> rows() const { return some_rows ? std::span(*some_rows) : std::span(batch.node); }
  int64_t bytes() const;  ///< that it holds for its batch and rows
  /// Number of its pairs that are edges to predict.
  int64_t targets() const { return std::ranges::count(pair_y, 1.0F); }

  /// Its shape, and into `prefixes` those of what lies within each number of hops.
  GraphShape shape(std::span<GraphShape> prefixes) const;

  /// As bytes one after the other, to be kept for some time. No more than max_bytes() of its shape.
  void write(Vector<std::byte, Tag::blocks>& to) const;
  /// What write() wrote, into the memory that this has.
  void read(std::span<const std::byte> from);
  static int64_t max_bytes(const GraphShape& shape, int64_t hops, int64_t edge_width);
};

/// Makes the samples of blocks of seeds, which follow from their numbers and a seed alone. One a thread; what
/// it is made of has to outlive it.
class BlockSampler {
 public:
  struct From {
    const Topology& topology;
    const GraphView& graph;
    const SeedBlocks& blocks;
    NeighbourOptions neighbours;
    uint64_t seed = 0;
    std::optional<int64_t> negatives = {};  ///< for each edge that is a seed; none: seeds are nodes
    bool exclude_targets = false;           ///< edges that are seeds, either way, are not sampled for them

    /// Bytes that leaving out this number of edges takes, at most.
    int64_t bytes_for_targets(int64_t edges) const {
      return negatives && exclude_targets ? PredictedEdges::bytes_for(edges) : 0;
    }
  };
  /// Errors: those of BulkSampler and LinkSeeds.
  explicit BlockSampler(const From& from);

  /// Samples many blocks at once. False, with samples of any kind: it was told to stop. Errors: those of
  /// BulkSampler::sample().
  bool sample(std::span<const int64_t> numbers, std::span<BlockSample> samples,
              const std::stop_token& stop = {});
  void sample(int64_t number, BlockSample& sample) { this->sample({&number, 1}, {&sample, 1}); }
  /// Gives back what it keeps for the next call.
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

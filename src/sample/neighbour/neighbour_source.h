#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/shared_mutex.h"
#include "memory/charge.h"
#include "rows/direct_rows.h"
#include "rows/feature_file.h"
#include "rows/node_numbers.h"
#include "sample/block/block.h"
#include "sample/neighbour/block_sampler.h"
#include "sample/neighbour/left_out_rows.h"
#include "sample/neighbour/run_cache.h"
#include "sample/neighbour/sample_blocks.h"
#include "sample/seeds/seed_blocks.h"
#include "sample/seeds/seed_lists.h"
#include "sample/topology/disk_topology.h"
#include "store/graph.h"

namespace plimsoll {

struct NeighbourSourceOptions {
  NeighbourOptions neighbours;
  SeedBlockOptions blocks;
  uint64_t seed = 0;  ///< Seed for sampling neighbours.
  /// Requested splits; the first is used for training. Without splits there are no blocks, and the graph
  /// needs no labels.
  std::vector<std::string> splits = {"train", "valid"};
  EdgeColumns edges = {};  ///< Edge columns that blocks contain; features only if the graph has them.
  /// Negative pairs per seed edge; unset: seeds are nodes.
  std::optional<int64_t> negatives = {};
  NodeLabels labels = NodeLabels::classes;  ///< The labels to predict, if seeds are nodes.
  /// Leave seed edges and their reverses out of the samples of their block.
  bool exclude_targets = false;
  /// Disk space for samples and rows of future blocks. Default size: four times the bytes of the columns as
  /// f32, at least 2 GiB, and never more than ScratchFile::room().
  ScratchSpace scratch = {};
  /// Whether feature rows may be left out of blocks (FeatureRows).
  bool row_places = false;
};

/// Blocks of seeds of one giant graph with the neighbours sampled for them. A block is one graph. Its first
/// nodes are the seeds, the only nodes with labels; the other nodes follow in the order of hops. If seeds are
/// edges, its first nodes are the ends of the pairs that LinkSeeds makes. Blocks are the same for every
/// cache, budget and number of threads.
///
/// Every sample is known in advance, so the rows of many blocks are read in file order before they are
/// requested (RunCache).
class NeighbourSource : public BlockSource, private FeatureRows {
 public:
  /// Opens the graph. Errors: InputError (not a graph; too many nodes without features; for requested splits:
  /// no labels or edges to predict, an empty split), UsageError (fan-outs), BudgetExceeded, Failure.
  NeighbourSource(const std::filesystem::path& folder, const NeighbourSourceOptions& options);

  int64_t graphs() const override { return blocks_.blocks(); }
  int64_t node_features() const override { return width_; }
  /// Numbers per edge in the requested columns.
  int64_t edge_features() const override { return topology_.edge_width(); }
  RowWidths widths() const override {
    return {.node_features = width_,
            .edge_features = edge_features(),
            .hops = hops(),
            .targets = {.width = target_width(), .of_nodes = true},
            .row_places = options_.row_places,
            .node_numbers = numbers_ ? graph_.nodes() : 0};
  }
  const GraphSetTables& tables() const override { return tables_; }
  /// Called during shapes() for each block in each hop, from one thread at a time. `done` of `total` blocks
  /// have been sampled.
  using SamplingProgress = std::function<void(int64_t done, int64_t total)>;
  /// Sets the function that receives the progress. No thread may be in shapes().
  void report_sampling(SamplingProgress progress) const { progress_ = std::move(progress); }
  /// Samples blocks of the run, without their features. These are the blocks of validation and, if there is a
  /// file for samples and every fan-out is limited, the blocks of the first epochs, at least 256 blocks;
  /// otherwise all blocks. Stores as many of the samples as the disk space permits. Must not run at the same
  /// time as any other call. Errors: those of BlockSampler and sample_blocks().
  Vector<GraphShape, Tag::columns> shapes(int threads) const override;
  /// Returns the blocks of later epochs, which prepare() samples; none before shapes().
  BoundedGraphs bounded() const override { return bounded_; }
  void count_items(int64_t graph, GraphShape& shape) const override;
  /// Same as BlockSource::start_up_cost(). Until the first resize_cache(), the bytes include those of blocks
  /// that were read after shapes().
  std::optional<StartUpCost> start_up_cost() const override;
  std::span<const GraphShape> prefix_shapes() const override { return prefix_shapes_; }
  /// Same as BlockSource::read(). Errors: those of the topology and of RowReader::read(); those of
  /// RunCache::read(); BudgetExceeded.
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;

  int64_t max_cache_bytes() const override;
  /// Same as BlockSource::resize_cache(). Waits for running calls of read().
  void resize_cache(int64_t bytes) const override;
  void prepare(std::span<const int64_t> graphs, const std::function<void()>& lend) const override;
  std::optional<ReadingCost> reading_cost(int64_t cache_bytes) const override;
  /// Same as BlockSource::row_counters(). The bytes read include those of edges and samples.
  std::optional<RowCounters> row_counters() const override;
  const FeatureRows* feature_rows() const override { return options_.row_places ? this : nullptr; }

  /// Returns the number of blocks that are sampled in advance and whose rows are planned or read.
  int64_t planned() const;
  const SeedBlocks& blocks() const { return blocks_; }
  const GraphView& graph() const { return graph_; }
  /// The edges. The caller may change their cache size while no block is being read.
  DiskTopology& topology() const { return topology_; }

 private:
  int64_t count() const override { return graph_.nodes(); }
  int64_t leave_out(int64_t max, std::span<float> buffer, const Take& take) const override;
  void put_back() const override;
  float greatest_left_out() const override { return left_out_->greatest(); }

  int64_t hops() const { return static_cast<int64_t>(options_.neighbours.fan_outs.size()); }
  // Numbers to predict in each row of a block; 0 if its seeds have classes.
  int64_t target_width() const { return options_.labels == NodeLabels::classes ? 0 : graph_.target_width(); }
  void append_targets(const BlockSample& sample, GraphBlock& block) const;
  BlockSampler::From sampled_from() const;
  BoundedGraphs later_blocks() const;
  int64_t sampled_blocks() const { return graphs() - (bounded_.end - bounded_.first); }
  void sample_all(int threads, const SampleSizes& first, Vector<GraphShape, Tag::columns>& shapes) const;
  void sample_all(const SamplingShares& shares, const StreamSpace& space, bool keeps,
                  Vector<GraphShape, Tag::columns>& shapes) const;
  void append(int64_t number, GraphBlock& block) const PLIMSOLL_REQUIRES_SHARED(cache_mutex_);
  std::byte* append_graph(int64_t number, const BlockSample& sample, GraphBlock& block) const;
  const RowSet* left_out() const { return left_out_ ? &left_out_->set() : nullptr; }
  RowCounters counters_of_start_up() const;
  void sample_largest(std::span<const GraphShape> shapes) const;
  bool read_stored(int64_t number) const PLIMSOLL_REQUIRES(mutex_);
  void drop_cache() const PLIMSOLL_REQUIRES(cache_mutex_);
  void resize_topology(int64_t bytes) const;
  int64_t data_bytes() const;
  int64_t scratch_bytes() const;
  int64_t sample_file_bytes(int64_t of_block, int64_t room) const;
  RunCache::Options cache_options(int64_t bytes) const;
  SampleSizes sizes_of(std::span<const GraphShape> shapes, std::span<const GraphShape> prefixes) const;
  SampleSizes guess_sizes() const PLIMSOLL_REQUIRES(mutex_);
  StreamSpace stream_space(const SampleSizes& sizes) const;
  void keep_samples() const PLIMSOLL_REQUIRES(mutex_);

  GraphView graph_;
  NeighbourSourceOptions options_;
  mutable DiskTopology topology_;
  SeedBlocks blocks_;
  GraphSetTables tables_;
  int64_t width_;
  std::unique_ptr<const NodeNumbers> numbers_;  // The rows of nodes without features.
  FeatureFile rows_;
  mutable BoundedGraphs bounded_;
  mutable Vector<GraphShape, Tag::columns> prefix_shapes_;
  mutable Vector<uint8_t, Tag::columns> uses_;   // Uses of each node in some of the run's blocks.
  mutable std::optional<LeftOutRows> left_out_;  // Unset unless options_.row_places.
  mutable int64_t counted_blocks_ = 0;
  mutable SampleSizes sizes_;
  mutable SamplingProgress progress_;
  mutable std::optional<StartUpCost> start_up_;
  mutable RowCounters before_start_up_;
  mutable bool is_starting_ = false;
  mutable int threads_ = 1;  // Threads that sample.

  mutable Mutex mutex_;        // Locked after cache_mutex_.
  mutable DirectRows direct_;  // Thread-safe. Reads blocks that were not prefetched.
  mutable BlockSampler sampler_ PLIMSOLL_GUARDED_BY(mutex_);
  mutable BlockSample sample_ PLIMSOLL_GUARDED_BY(mutex_);
  mutable Vector<int64_t, Tag::blocks> seeds_ PLIMSOLL_GUARDED_BY(mutex_);  // Used by count_items().
  mutable Vector<int64_t, Tag::blocks> labels_ PLIMSOLL_GUARDED_BY(mutex_);
  // Memory beyond the samples themselves: samples of different sizes leave holes in the heap, and threads
  // that read ahead have stacks. In long runs, up to 0.8 MiB was measured for samples of 0.5 MiB.
  mutable Charge overhead_ PLIMSOLL_GUARDED_BY(mutex_){Tag::blocks};

  mutable std::optional<SampleFile> kept_;
  mutable SharedMutex cache_mutex_;
  mutable std::unique_ptr<RunCache> cache_ PLIMSOLL_GUARDED_BY(cache_mutex_);
  mutable RowCounters earlier_counters_ PLIMSOLL_GUARDED_BY(cache_mutex_);  // Counters of earlier caches.
};

}  // namespace plimsoll

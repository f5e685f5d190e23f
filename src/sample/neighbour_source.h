#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "sample/block.h"
#include "sample/bulk_sampler.h"
#include "sample/cache_shares.h"
#include "sample/disk_topology.h"
#include "sample/link_seeds.h"
#include "sample/seed_blocks.h"
#include "store/feature_file.h"
#include "store/graph.h"
#include "store/row_sweep.h"

namespace plimsoll {

struct NeighbourSourceOptions {
  NeighbourOptions neighbours;
  SeedBlockOptions blocks;
  uint64_t seed = 0;  ///< of what is sampled
  /// The splits that are asked for; the first trains.
  std::vector<std::string> splits = {"train", "valid"};
  /// Pairs without an edge for each edge that is a seed; none: seeds are nodes.
  std::optional<int64_t> negatives = {};
};

/// Blocks of seeds of one giant graph with the neighbours sampled for them: a block is one graph, whose nodes
/// are the seeds, which alone have labels, and then what was reached, in the order of hops. Where seeds are
/// edges, its first nodes are the ends of the pairs that LinkSeeds makes of them. The same for every cache,
/// budget and thread.
///
/// Every sample is known in advance, so a thread samples the blocks behind the one that is read, many at a
/// time, as far as a part of the cache has room for them, and their rows are read in the order of the file
/// (store/row_sweep.h).
class NeighbourSource : public BlockSource {
 public:
  /// Errors: InputError (no graph, no features, no labels or edges to predict, an empty split), UsageError
  /// (fan-outs).
  NeighbourSource(const std::filesystem::path& folder, const NeighbourSourceOptions& options);

  int64_t graphs() const override { return blocks_.blocks(); }
  int64_t node_features() const override { return width_; }
  int64_t edge_features() const override { return 0; }
  RowWidths widths() const override { return {.node_features = width_, .hops = hops()}; }
  const GraphSetTables& tables() const override { return tables_; }
  /// Samples every block of the run, without its features.
  Vector<GraphShape, Tag::columns> shapes(int threads) const override;
  std::span<const GraphShape> prefix_shapes() const override { return prefix_shapes_; }
  /// Errors: those of the topology and of RowReader::read().
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;

  int64_t most_cache_bytes() const override;
  /// Waits for calls of read().
  void resize_cache(int64_t bytes) const override;
  std::optional<RowCounters> row_counters() const override;

  /// Blocks that are sampled ahead at this moment and whose rows are being read.
  int64_t planned() const;
  const SeedBlocks& blocks() const { return blocks_; }
  const GraphView& graph() const { return graph_; }
  /// The edges. Their bytes are the caller's to choose while no block is read.
  DiskTopology& topology() const { return topology_; }

 private:
  struct Sample {
    SampledBatch batch = {};
    Vector<int64_t, Tag::blocks> labels = {};
    Vector<int32_t, Tag::blocks> pairs = {};  // as in GraphBlock, where seeds are edges
    Vector<float, Tag::blocks> pair_y = {};
  };
  // What makes samples, of one thread.
  struct Sampler {
    explicit Sampler(const NeighbourSource& source);
    BulkSampler neighbours;
    std::optional<LinkSeeds> links;  // where seeds are edges
  };
  // A block that was sampled ahead.
  struct Coming {
    int64_t number = 0;
    bool planned = false;  // its rows are wanted of sweep_
    int64_t bytes = 0;     // that the sample takes
    Sample sample = {};
  };
  void seeds_of(Sampler& sampler, int64_t number, Sample& sample) const;
  void sample_alone(Sampler& sampler, int64_t number, Sample& sample) const;
  GraphShape shape_of(const Sample& sample, std::span<GraphShape> prefixes) const;
  int64_t hops() const { return static_cast<int64_t>(options_.neighbours.fan_outs.size()); }
  void sample_all(int threads, Vector<GraphShape, Tag::columns>& shapes) const;

  void append(int64_t number, GraphBlock& block, std::unique_lock<std::mutex>& lock) const;
  void append_now(int64_t number, GraphBlock& block) const;
  float* append_graph(int64_t number, const Sample& sample, GraphBlock& block) const;
  void read_rows(std::span<const int64_t> nodes, float* x) const;
  std::optional<Coming> take_coming(int64_t number) const;
  void end(const Coming& coming) const;
  void plan_coming() const;
  void start_behind(int64_t number) const;
  std::optional<int64_t> behind(int64_t number) const;
  bool has_room() const;
  void sample_ahead(const std::stop_token& stop) const;
  void forget_coming() const;
  void resize_topology(int64_t bytes) const;

  GraphView graph_;
  NeighbourSourceOptions options_;
  mutable DiskTopology topology_;
  SeedBlocks blocks_;
  GraphSetTables tables_;
  int64_t width_;
  FeatureFile rows_;
  mutable Vector<GraphShape, Tag::columns> prefix_shapes_;

  mutable std::mutex mutex_;  // guards what follows, but for what the thread has for itself
  mutable std::condition_variable_any changed_;
  mutable Vector<uint8_t, Tag::columns> uses_;  // of each node, in kCountedBlocks of the run's blocks
  mutable SampleSizes sizes_;
  mutable RowReader reader_;  // of blocks that were not sampled ahead, as what follows
  mutable Sampler sampler_;
  mutable Sample sample_;
  mutable Vector<WantedRow, Tag::cache> wanted_;
  mutable RowCounters before_;  // of reader_ and of earlier sweeps

  mutable std::optional<RowSweep> sweep_;
  mutable int64_t ahead_bytes_ = 0;  // for blocks that are sampled ahead; 0: none are
  mutable int64_t group_ = 1;        // blocks that are sampled at a time
  mutable std::deque<Coming> coming_;
  mutable int64_t coming_bytes_ = 0;
  mutable int gathering_ = 0;              // calls that wait for sweep_
  mutable std::optional<int64_t> next_;    // the block to be sampled next
  mutable std::vector<int64_t> sampling_;  // those that the thread works on
  mutable int64_t begun_ = 0;              // how often coming_ was begun anew
  mutable std::deque<int64_t> recent_;     // blocks that were read last
  mutable uint32_t last_epoch_ = 0;        // of training
  mutable Sampler ahead_sampler_;          // the thread's while sampling_ has any
  mutable std::jthread thread_;            // the last: it ends before what it works on
};

}  // namespace plimsoll

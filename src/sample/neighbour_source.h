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
#include "sample/disk_topology.h"
#include "sample/link_seeds.h"
#include "sample/neighbour_sampler.h"
#include "sample/seed_blocks.h"
#include "store/cached_rows.h"
#include "store/graph.h"

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
/// Every sample is known in advance, so a thread samples the blocks behind the one that is read, as far as a
/// part of the cache has room for them, and plans their rows (store/row_cache.h).
class NeighbourSource : public BlockSource {
 public:
  /// Errors: InputError (no graph, no features, no labels or edges to predict, an empty split), UsageError
  /// (fan-outs).
  NeighbourSource(const std::filesystem::path& folder, const NeighbourSourceOptions& options);

  int64_t graphs() const override { return blocks_.blocks(); }
  int64_t node_features() const override { return width_; }
  int64_t edge_features() const override { return 0; }
  const GraphSetTables& tables() const override { return tables_; }
  /// Samples every block of the run, without its features.
  Vector<GraphShape, Tag::columns> shapes(int threads) const override;
  /// Errors: those of the topology and of RowReader::read().
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;

  int64_t most_cache_bytes() const override;
  void resize_cache(int64_t bytes) const override;
  std::optional<RowCounters> row_counters() const override;

  /// Blocks that are sampled ahead at this moment.
  int64_t planned() const;
  const SeedBlocks& blocks() const { return blocks_; }
  const GraphView& graph() const { return graph_; }

 private:
  struct Sample {
    SampledSubgraph graph;
    Vector<int64_t, Tag::blocks> seeds;
    Vector<int64_t, Tag::blocks> labels;
    Vector<int32_t, Tag::blocks> pairs;
    Vector<float, Tag::blocks> pair_y;
    std::optional<LinkSeeds> links;  // made when first asked for
  };
  // A block that was sampled ahead and whose rows are planned.
  struct Coming {
    int64_t number = 0;
    bool early = false;  // it was read before its turn
    int64_t bytes = 0;   // that it takes, with its rows in the plan
    Vector<int64_t, Tag::cache> nodes = {};
    Vector<int32_t, Tag::cache> edges = {};  // [M, 2] source and target
    Vector<int64_t, Tag::cache> labels = {};
    Vector<int32_t, Tag::cache> pairs = {};  // as in GraphBlock
    Vector<float, Tag::cache> pair_y = {};
  };
  void sample(NeighbourSampler& sampler, int64_t number, Sample& into) const;
  static GraphShape shape_of(const Sample& sample);
  void append(int64_t number, GraphBlock& block, std::unique_lock<std::mutex>& lock) const;
  void append_now(int64_t number, GraphBlock& block) const;
  struct Judged {
    std::span<const int64_t> labels;
    std::span<const int32_t> pairs;
    std::span<const float> pair_y;
  };
  float* append_graph(int64_t number, const Judged& judged, int64_t nodes, std::span<const int32_t> edges,
                      GraphBlock& block) const;
  void drop_read() const;
  void start_behind(int64_t number) const;
  std::optional<int64_t> behind(int64_t number) const;
  bool add_coming(int64_t number) const;
  void sample_ahead(const std::stop_token& stop) const;
  void resize_topology(int64_t bytes) const;

  GraphView graph_;
  NeighbourSourceOptions options_;
  mutable DiskTopology topology_;
  SeedBlocks blocks_;
  GraphSetTables tables_;
  int64_t width_;

  mutable std::mutex mutex_;  // guards what follows, but for what the thread has for itself
  mutable std::condition_variable_any changed_;
  mutable Vector<uint8_t, Tag::columns> uses_;  // of each node, in kCountedBlocks of the run's blocks
  mutable CachedRows rows_;
  mutable NeighbourSampler sampler_;  // of blocks that were not sampled ahead
  mutable Sample sample_;
  mutable Vector<int32_t, Tag::blocks> edges_;
  mutable std::deque<Coming> coming_;  // as planned in rows_
  mutable int64_t coming_bytes_ = 0;
  mutable std::optional<int64_t> next_;     // the block to be sampled next
  mutable int64_t sampling_ = -1;           // the one that the thread works on
  mutable int64_t begun_ = 0;               // how often coming_ was begun anew
  mutable std::deque<int64_t> recent_;      // blocks that were read last
  mutable uint32_t last_epoch_ = 0;         // of training
  mutable NeighbourSampler ahead_sampler_;  // the thread's
  mutable Sample ahead_sample_;             // the thread's
  mutable std::jthread thread_;             // the last: it ends before what it works on
};

}  // namespace plimsoll

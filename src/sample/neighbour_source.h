#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "sample/block.h"
#include "sample/disk_topology.h"
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
};

/// Blocks of seeds of one giant graph with the neighbours sampled for them: a block is one graph, whose nodes
/// are the seeds, which alone have labels, and then what was reached, in the order of hops. The same for
/// every cache, budget and thread.
///
/// Every sample is known in advance, so a block that is read has those behind it sampled too, as far as the
/// plan of the cache has room, and their rows planned (store/row_cache.h). They are sampled again when their
/// turn comes: that is cheaper than to keep them.
class NeighbourSource : public BlockSource {
 public:
  /// Errors: InputError (no graph, no features, no labels, an empty split), UsageError (fan-outs).
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

  const SeedBlocks& blocks() const { return blocks_; }
  const GraphView& graph() const { return graph_; }

 private:
  struct Sample {
    SampledSubgraph graph;
    Vector<int64_t, Tag::blocks> seeds;
    Vector<int64_t, Tag::blocks> labels;
  };
  void sample(NeighbourSampler& sampler, int64_t number, Sample& into) const;
  static GraphShape shape_of(const Sample& sample);
  void append(int64_t number, GraphBlock& block) const;
  void gather(int64_t number, std::span<const int64_t> nodes, std::byte* out) const;
  void forget_plan() const;
  void plan_ahead() const;
  std::optional<int64_t> behind(int64_t number) const;

  void resize_topology(int64_t bytes) const;

  GraphView graph_;
  NeighbourSourceOptions options_;
  mutable DiskTopology topology_;
  SeedBlocks blocks_;
  GraphSetTables tables_;
  int64_t width_;

  mutable std::mutex mutex_;  // guards what follows
  mutable CachedRows rows_;
  mutable NeighbourSampler sampler_;
  mutable Sample sample_;                // of the block that is read
  mutable Sample coming_;                // of one that is planned
  mutable std::deque<int64_t> planned_;  // blocks in the plan of the cache
  mutable int64_t planned_rows_ = 0;
  mutable std::deque<int64_t> rows_of_planned_;
  mutable std::set<int64_t> early_;     // of these, those that were read before their turn
  mutable std::deque<int64_t> recent_;  // blocks that were read last
  mutable int64_t last_ = -1;           // block that was planned or read in order last
  mutable uint32_t last_epoch_ = 0;     // of training
};

}  // namespace plimsoll

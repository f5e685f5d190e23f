#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loader/batch_maker.h"
#include "loader/neighbour_fields.h"
#include "loader/seed_list.h"
#include "rows/batches_ahead.h"
#include "rows/scanned_rows.h"
#include "sample/neighbour/neighbour_sampler.h"
#include "sample/neighbour/node_id_map.h"
#include "sample/partition/part_nodes.h"
#include "sample/topology/topology.h"
#include "store/graph.h"

namespace plimsoll {

/// How to sample around the seeds and how to read features.
struct NeighbourLoading {
  NeighbourOptions sampling;
  SeedBatching batching;
  GraphList targets = {};  ///< Pairs of nodes [n, 2]. The edges between the nodes of a pair, in both
                           ///< directions, are left out of all batches.
  /// Whether batches have the rows of the graph's columns in addition to nodes and edges.
  bool columns = true;
  /// Bytes of a cache of feature rows; 0: no cache, features are read from the mapped file.
  int64_t cache_bytes = 0;
  /// Maximum number of batches that are sampled in advance, so that their rows can be read into the cache.
  int64_t horizon = std::numeric_limits<int64_t>::max();
};

/// The data that all epochs of one loader share. The graph is read from its mapped file, except for cached
/// features. Thread-safe. A child of fork() may destroy objects that its parent created.
class LoadedGraph {
 public:
  /// `seeds` are the nodes to use; nullopt: all nodes. Errors: UsageError for a node that is not in the
  /// graph, and for a cache that is too small; those of NeighbourSampler and ScannedRows.
  LoadedGraph(std::shared_ptr<const GraphView> graph, std::optional<std::span<const int64_t>> seeds,
              NeighbourLoading loading);
  /// For batches of clusters: all nodes of a part of the partition are seeds of the same batch. Errors: those
  /// of the other constructor and of PartNodes.
  LoadedGraph(std::shared_ptr<const GraphView> graph, PartNodes parts, NeighbourLoading loading);
  ~LoadedGraph();
  LoadedGraph(const LoadedGraph&) = delete;
  LoadedGraph& operator=(const LoadedGraph&) = delete;

  const GraphView& graph() const { return *graph_; }
  const Topology& topology() const { return topology_; }
  const NeighbourLoading& loading() const { return loading_; }
  const NeighbourFields& fields() const { return fields_; }
  /// Number of seeds, or parts, in an epoch.
  int64_t items() const;
  /// Appends seed `i`, or the nodes of part `i`; `i` is below items().
  void append_seeds(int64_t i, SampledSubgraph::Column& seeds) const;
  const char* limits() const { return parts_ ? "batch_size" : "batch_size, num_neighbors"; }
  /// The reader of feature rows; null if they are read from the mapped file.
  ScannedRows* rows() { return rows_.get(); }

 private:
  const std::shared_ptr<const GraphView> graph_;
  const CsrTopology topology_;
  const NeighbourLoading loading_;
  const NeighbourFields fields_;
  std::optional<GraphList> seeds_;
  std::optional<PartNodes> parts_;
  const pid_t process_;
  std::unique_ptr<ScannedRows> rows_;
};

/// Makes the batches of an epoch from a list of seeds. A batch has a sample around its seeds
/// (NeighbourSampler) and the column rows of the sampled nodes and edges. It depends only on the random seed,
/// the epoch and the order of its seed nodes, not on the cache or on how far sampling is ahead.
class NeighbourBatches final : public BatchMaker {
 public:
  /// Errors: those of list_seeds() and NeighbourSampler.
  NeighbourBatches(std::shared_ptr<LoadedGraph> source, uint32_t epoch, const Share& share,
                   std::shared_ptr<BatchMemory> memory);

  int64_t size() const override { return list_.size(); }
  /// Does the same as BatchMaker::make(). If memory is short, drops samples made in advance. Errors: those of
  /// BatchMaker::make(); UsageError for a seed that occurs twice if seeds share nodes.
  CollatedBatch make(int64_t batch) override;
  void give_up() override;
  const char* limits() const override { return source_->limits(); }

 private:
  struct Sample {
    int64_t batch = 0;
    SampledSubgraph graph;
    SampledSubgraph::Column different;  // For disjoint subgraphs: the distinct nodes of all subgraphs.
    SampledSubgraph::Column number;     // Index of each node in `different`.

    std::span<const int64_t> rows() const { return number.empty() ? graph.node : different; }
    int64_t bytes() const {
      return graph.bytes() + static_cast<int64_t>((different.capacity() + number.capacity()) * 8);
    }
  };
  Sample sample(int64_t batch);
  void sample_to(int64_t batch);
  CollatedBatch take(int64_t batch);
  void fill(const Sample& sample, CollatedBatch& batch) const;
  void gather_features(const BatchesAhead<Sample>::KnownBatch& known, float* x);

  const std::shared_ptr<LoadedGraph> source_;
  const uint32_t epoch_;
  const BatchList list_;
  const std::shared_ptr<BatchMemory> memory_;
  NeighbourSampler sampler_;
  NodeIdMap table_;
  SampledSubgraph::Column tree_;
  SampledSubgraph::Column seeds_;
  BatchesAhead<Sample> samples_;  // Consecutive batches.
  std::vector<Sample> spare_;     // Samples whose memory is reused.
};

}  // namespace plimsoll

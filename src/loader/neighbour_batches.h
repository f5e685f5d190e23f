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

/// By PyTorch Geometric's name. Errors: UsageError that lists the names.
SubgraphType subgraph_type_from_name(const std::string& name);

/// What to sample around the seeds, and how features come.
struct NeighbourLoading {
  NeighbourOptions sampling;
  SeedBatching batching;
  GraphList targets = {};   ///< pairs of nodes [n, 2] whose edges, either way, no batch has
  bool columns = true;      ///< whether batches have rows of the graph's columns, or nodes and edges alone
  int64_t cache_bytes = 0;  ///< for rows of features; 0: they come from the map
  /// With a cache: batches that are sampled before they are due at most, so that their rows are read.
  int64_t horizon = std::numeric_limits<int64_t>::max();
};

/// What the epochs of one loader share. The graph is used by way of its map, but for features with a cache. A
/// child of fork() may destroy what its parent made.
class LoadedGraph {
 public:
  /// `seeds`: nodes to go over; none: all of them. Errors: UsageError for one that is not in the graph, and
  /// for a cache that is too small; those of NeighbourSampler and ScannedRows.
  LoadedGraph(std::shared_ptr<const GraphView> graph, std::optional<std::span<const int64_t>> seeds,
              NeighbourLoading loading);
  /// Batches of clusters: goes over the parts of a partition, whose nodes are seeds together. Errors: those
  /// of PartNodes as well.
  LoadedGraph(std::shared_ptr<const GraphView> graph, PartNodes parts, NeighbourLoading loading);
  ~LoadedGraph();
  LoadedGraph(const LoadedGraph&) = delete;
  LoadedGraph& operator=(const LoadedGraph&) = delete;

  const GraphView& graph() const { return *graph_; }
  const Topology& topology() const { return topology_; }
  const NeighbourLoading& loading() const { return loading_; }
  const NeighbourFields& fields() const { return fields_; }
  /// How many seeds, or parts, an epoch goes over.
  int64_t items() const;
  /// Appends the seed, or the nodes of the part, that is item `i`.
  void append_seeds(int64_t i, SampledSubgraph::Column& seeds) const;
  const char* limits() const { return parts_ ? "batch_size" : "batch_size, num_neighbors"; }
  /// None: rows of features come from the map.
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

/// The batches of an epoch: seeds of a list, what NeighbourSampler gives for them, and the rows of columns of
/// these nodes and edges. A batch is a function of the seed, the epoch and its seeds, in their order; neither
/// the cache nor how far ahead is sampled has an influence.
class NeighbourBatches final : public BatchMaker {
 public:
  NeighbourBatches(std::shared_ptr<LoadedGraph> source, uint32_t epoch, const Share& share,
                   std::shared_ptr<BatchMemory> memory);

  int64_t size() const override { return list_.size(); }
  /// Errors beside those of BatchMaker: UsageError for a seed that stands twice where seeds share nodes.
  /// Where memory is short, what was sampled ahead gives way.
  CollatedBatch make(int64_t batch) override;
  void give_up() override;
  const char* limits() const override { return source_->limits(); }

 private:
  struct Sample {
    int64_t batch = 0;
    SampledSubgraph graph;
    SampledSubgraph::Column different;  // of disjoint subgraphs: their nodes, each once
    SampledSubgraph::Column number;     // and the place of each node among these

    std::span<const int64_t> rows() const { return number.empty() ? graph.node : different; }
    int64_t bytes() const {
      return graph.bytes() + static_cast<int64_t>((different.capacity() + number.capacity()) * 8);
    }
  };
  Sample sample(int64_t batch);
  void sample_to(int64_t batch);
  CollatedBatch take(int64_t batch);
  void fill(const Sample& sample, CollatedBatch& batch) const;
  void gather_features(const BatchesAhead<Sample>::Coming& coming, float* x);

  const std::shared_ptr<LoadedGraph> source_;
  const uint32_t epoch_;
  const BatchList list_;
  const std::shared_ptr<BatchMemory> memory_;
  NeighbourSampler sampler_;
  NodeIdMap table_;
  SampledSubgraph::Column tree_;
  SampledSubgraph::Column seeds_;
  BatchesAhead<Sample> samples_;  // consecutive batches
  std::vector<Sample> spare_;     // whose memory is used again
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "memory/vector.h"
#include "sample/neighbour/neighbour_choice.h"
#include "sample/neighbour/neighbour_sampler.h"
#include "sample/neighbour/node_id_map.h"
#include "sample/neighbour/predicted_edges.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// Seeds with the neighbours sampled for them, in compact form: edges are grouped by target node.
struct SampledBatch {
  uint32_t epoch = 0;
  /// [N] Nodes in the order in which they were reached; seeds first.
  Vector<int64_t, Tag::blocks> node;
  Vector<uint32_t, Tag::blocks>
      in;  ///< [expanded nodes] Number of sampled edges into each of the first nodes.
  Vector<uint32_t, Tag::blocks> source;  ///< [M] Source of each edge: a number 0 .. N-1.
  Vector<float, Tag::blocks> values;     ///< [M, Topology::edge_width()].
  std::vector<int64_t> nodes_per_hop;    ///< [hops + 1] Number of new nodes per hop; seeds are hop 0.
  std::vector<int64_t> edges_per_hop;    ///< [hops] Number of edges per hop.

  int64_t nodes() const { return static_cast<int64_t>(node.size()); }
  int64_t edges() const { return static_cast<int64_t>(source.size()); }
  /// Calls use(source, target) for each edge in order.
  template <typename Use>
  void each_edge(const Use& use) const {
    size_t e = 0;
    for (size_t target = 0; target < in.size(); ++target)
      for (uint32_t i = 0; i < in[target]; ++i) use(source[e++], static_cast<uint32_t>(target));
  }
  /// Bytes charged to the ledger.
  int64_t bytes() const;
};

/// Empties a batch and sets its seeds. From then on `table` numbers its nodes, and `tree` has the seed that
/// first reached each node. Errors: UsageError for a seed that occurs twice.
void begin_batch(std::span<const int64_t> seeds, NodeIdMap& table, NodeIdMap::Column& tree,
                 SampledBatch& batch);

/// Samples neighbours for many batches at once (in bulk: Tripathy, Yelick and Buluc, "Distributed
/// matrix-based sampling for graph neural network training", MLSys 2024). The lists that a hop needs for all
/// batches are read together and in node order, so that a topology on disk sees few long reads instead of
/// scattered ones. Each batch equals the result of NeighbourSampler for this batch alone, `directional` and
/// not disjoint.
///
/// Use one sampler per thread, because it keeps scratch memory. The topology must outlive it.
class BulkSampler {
 public:
  /// Errors: those of NeighbourSampler; UsageError for a graph of 2^32 nodes or more, or another kind of
  /// subgraph.
  BulkSampler(const Topology& topology, NeighbourOptions options, uint64_t seed);

  /// Samples each batch. The inputs of a batch are `epoch` and, in `node`, the seeds. Returns false if it was
  /// stopped before the next read; the batches are then undefined. Edges of `targets` are left out: its batch
  /// numbers are indices into `batches`, and its nodes are seeds. Errors: those of
  /// NeighbourSampler::sample().
  bool sample(std::span<SampledBatch> batches, const std::stop_token& stop = {},
              PredictedEdges* targets = nullptr);
  /// Frees scratch memory that is kept for the next call.
  void forget();
  /// Returns the maximum bytes of a batch while it is sampled, including scratch memory. `edge_width` is the
  /// number of values per edge.
  static int64_t bytes_for(int64_t nodes, int64_t edges, int64_t edge_width) {
    return nodes * kNodeBytes + edges * kEdgeBytes * (1 + edge_width);
  }

 private:
  // Columns grow to twice their size, so each byte counts double.
  static constexpr int64_t kNodeBytes = 2 * (8 + 8 + 4) + 16 + 16 + 4;
  static constexpr int64_t kEdgeBytes = 2 * 4;  // Bytes per edge, and per value of an edge.

  // A node that a hop expands.
  struct Expanded {
    int64_t node;
    uint32_t batch;
    uint32_t place;  // Number of the node within the batch.
  };
  using Batches = std::span<SampledBatch>;
  void begin(Batches batches);
  bool read_lists(Batches batches, const std::stop_token& stop);
  void lay_out(Batches batches, int64_t fan_out);
  bool choose(Batches batches, int64_t fan_out, PredictedEdges* targets, const std::stop_token& stop);
  void read_chosen(Batches batches, size_t first, size_t end);
  void read_values(Batches batches, size_t first, size_t end);
  size_t begin_of(Batches batches, const Expanded& expanded) const;
  void number(SampledBatch& batch, size_t index);

  const Topology& topology_;
  NeighbourOptions options_;
  uint64_t seed_;
  NeighbourChoice choice_;
  NodeIdMap table_;
  NodeIdMap::Column seeds_;
  Vector<NodeIdMap::Column, Tag::blocks> trees_;  // Per batch: the seed that first reached each node.
  Vector<Expanded, Tag::blocks> expanded_;        // In node order.
  Vector<EdgeRange, Tag::blocks> lists_;          // Lists of the expanded nodes.
  Vector<uint32_t, Tag::blocks> begins_;          // Offset of each expanded node's edges, batch by batch.
  Vector<size_t, Tag::blocks> first_of_;          // Per batch: its first index in begins_.
  Vector<int64_t, Tag::blocks> edges_;            // Chosen edges whose neighbours are not read yet.
  Vector<int64_t, Tag::blocks> neighbours_;       // Neighbours of the last edges of edges_.
  Vector<float, Tag::blocks> values_;             // Values of some edges of edges_.
};

}  // namespace plimsoll

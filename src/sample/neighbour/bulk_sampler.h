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

/// Seeds with the neighbours sampled for them, as small as it can be kept: the edges of each node stand
/// together, one node after the other.
struct SampledBatch {
  uint32_t epoch = 0;
  Vector<int64_t, Tag::blocks> node;     ///< [N] in the order in which they were reached; seeds first
  Vector<uint32_t, Tag::blocks> in;      ///< [expanded nodes] how many edges lead to each of the first nodes
  Vector<uint32_t, Tag::blocks> source;  ///< [M] where each edge comes from: a number 0 .. N-1
  Vector<float, Tag::blocks> values;     ///< [M, Topology::edge_width()]
  std::vector<int64_t> nodes_per_hop;    ///< [hops + 1] new nodes; seeds are hop 0
  std::vector<int64_t> edges_per_hop;    ///< [hops]

  int64_t nodes() const { return static_cast<int64_t>(node.size()); }
  int64_t edges() const { return static_cast<int64_t>(source.size()); }
  /// Calls use(source, target) for each edge in order.
  template <typename Use>
  void each_edge(const Use& use) const {
    size_t e = 0;
    for (size_t target = 0; target < in.size(); ++target)
      for (uint32_t i = 0; i < in[target]; ++i) use(source[e++], static_cast<uint32_t>(target));
  }
  /// What it takes of the ledger.
  int64_t bytes() const;
};

/// Samples neighbours for many batches at once (in bulk: Tripathy, Yelick and Buluc, "Distributed
/// matrix-based sampling for graph neural network training", MLSys 2024). What a hop wants for all of them is
/// read together and in the order of nodes, so that a topology on disk is read in few long pieces and not in
/// scattered ones. Each batch is what NeighbourSampler gives for it alone, `directional` and not disjoint.
///
/// One a thread: it keeps scratch memory. The topology has to outlive it.
class BulkSampler {
 public:
  /// Errors: those of NeighbourSampler; UsageError for a graph of 2^32 nodes or more, or another kind of
  /// subgraph.
  BulkSampler(const Topology& topology, NeighbourOptions options, uint64_t seed);

  /// The sample of each batch, whose `epoch` and whose seeds, in `node`, are given. False, with batches of
  /// any kind: it was told to stop, which it does before it reads on. Edges of `targets` are left out: its
  /// batches are numbered as in `batches`, and its nodes are seeds. Errors: those of
  /// NeighbourSampler::sample().
  bool sample(std::span<SampledBatch> batches, const std::stop_token& stop = {},
              PredictedEdges* targets = nullptr);
  /// Gives back what it keeps for the next call.
  void forget();
  /// What a batch takes at most while it is sampled, scratch memory included, with so many values an edge.
  static int64_t bytes_for(int64_t nodes, int64_t edges, int64_t edge_width) {
    return nodes * kNodeBytes + edges * kEdgeBytes * (1 + edge_width);
  }

 private:
  // Columns grow to twice of what they hold.
  static constexpr int64_t kNodeBytes = 2 * (8 + 8 + 4) + 16 + 16 + 4;
  static constexpr int64_t kEdgeBytes = 2 * 4;  // and of each value

  // A node that a hop expands.
  struct Expanded {
    int64_t node;
    uint32_t batch;
    uint32_t place;  // in the batch
  };
  using Batches = std::span<SampledBatch>;
  void begin(Batches batches);
  bool read_lists(Batches batches, const std::stop_token& stop);
  void lay_out(Batches batches, int64_t fan_out);
  bool choose(Batches batches, int64_t fan_out, PredictedEdges* targets, const std::stop_token& stop);
  void read_chosen(Batches batches, size_t first, size_t end);
  void read_values(Batches batches, size_t first, size_t end);
  size_t begin_of(Batches batches, const Expanded& of) const;
  void number(SampledBatch& batch, size_t index);

  const Topology& topology_;
  NeighbourOptions options_;
  uint64_t seed_;
  NeighbourChoice choice_;
  NodeIdMap table_;
  NodeIdMap::Column seeds_;
  Vector<NodeIdMap::Column, Tag::blocks> trees_;  // of each batch: the seed that reached each node first
  Vector<Expanded, Tag::blocks> expanded_;        // in the order of nodes
  Vector<EdgeRange, Tag::blocks> lists_;          // of these
  Vector<uint32_t, Tag::blocks> begins_;          // batch by batch: where the edges of an expanded node begin
  Vector<size_t, Tag::blocks> first_of_;          // of each batch: in begins_
  Vector<int64_t, Tag::blocks> edges_;            // that were chosen and not yet read
  Vector<int64_t, Tag::blocks> neighbours_;       // of these
  Vector<float, Tag::blocks> values_;             // of some of these
};

}  // namespace plimsoll

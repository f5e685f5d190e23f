#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/words.h"
#include "memory/vector.h"
#include "sample/neighbour/neighbour_choice.h"
#include "sample/neighbour/node_id_map.h"
#include "sample/neighbour/predicted_edges.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// Edges of a batch, as in PyTorch Geometric.
enum class SubgraphType : uint8_t {
  directional,    ///< Sampled edges, each from a neighbour to the node it was sampled for.
  bidirectional,  ///< Sampled edges and their reverses, each pair once.
  induced         ///< All edges of the graph between nodes of the batch.
};
template <>
inline constexpr auto kWords<SubgraphType> = std::to_array<std::string_view>({"directional", "bidirectional",
                                                                              "induced"});

struct NeighbourOptions {
  std::vector<int64_t> fan_outs;  ///< Neighbours per node, hop by hop; -1 means all.
  bool replace = false;           ///< Whether an edge may be sampled more than once.
  bool weighted = false;          ///< Sample in proportion to edge weights: NeighbourChoice::weighted.
  bool disjoint = false;          ///< Each seed has its own subgraph.
  SubgraphType subgraph = SubgraphType::directional;
};

/// The sample of a batch of seeds: the output of pyg-lib's neighbor_sample with csc = true. Its memory is
/// reused for the next batch.
struct SampledSubgraph {
  using Column = Vector<int64_t, Tag::blocks>;
  Column row;            ///< [M] Neighbour of each edge: a number 0 .. N-1.
  Column col;            ///< [M] Node that each edge was sampled for: a number 0 .. N-1.
  Column node;           ///< [N] Nodes in the order in which they were reached; seeds first.
  Column edge;           ///< [M] Index of each edge in `indices`.
  Column batch;          ///< [N] Seed, 0 .. S-1, whose subgraph contains the node, or which first reached it.
  Column nodes_per_hop;  ///< [hops + 1] Number of new nodes per hop; seeds are hop 0.
  Column edges_per_hop;  ///< [hops] Number of sampled edges per hop; empty for bidirectional and induced.

  void clear();
  int64_t bytes() const;  ///< Bytes held by the columns.
};

/// Samples neighbours hop by hop. For each node that the previous hop reached first, it samples neighbours up
/// to a fan-out (Hamilton et al., "Inductive representation learning on large graphs", NeurIPS 2017).
///
/// The draws for a node are a function of (seed, epoch, seed node, node). The *seed node* is the one whose
/// disjoint subgraph contains the node or, if seeds share their nodes, the one that first reached it.
/// Therefore:
/// - threads, read paths, budgets and the number of a batch have no influence;
/// - a seed's direct neighbours do not depend on the rest of its batch, and in a disjoint batch nothing does;
/// - draws within one batch are independent: a node is expanded once, so no key is used twice. The key of a
///   node contains the seed that reached it, which earlier draws decide, but never a draw for the node
///   itself;
/// - batches of an epoch are independent, as long as a node is a seed in only one of them. With a key without
///   the seed node, two batches that reach the same node would see the same neighbours for a whole epoch.
///
/// Use one sampler per thread, because it keeps scratch memory. The topology must outlive it.
class NeighbourSampler {
 public:
  /// Errors: UsageError for a fan-out below -1, for one above 65,536 with replacement, or for weighted
  /// sampling if the graph has no weights.
  NeighbourSampler(const Topology& topology, NeighbourOptions options, uint64_t seed);

  /// Replaces `out` with the sample of these seeds. In a disjoint batch, a seed that occurs twice has the
  /// same subgraph twice. Errors: UsageError for a seed that is not in the graph, or that occurs twice in a
  /// batch that is not disjoint; InputError for an invalid weight, or a sample of 2^32 - 1 nodes or more;
  /// those of the topology; BudgetExceeded.
  void sample(std::span<const int64_t> seeds, uint32_t epoch, SampledSubgraph& out);
  /// Does the same, but leaves out the edges of `targets`, pairs of nodes [n, 2], and their reverses. The
  /// lists of the topology must ascend. Errors: the same, and UsageError for a target that is not in the
  /// graph.
  void sample(std::span<const int64_t> seeds, uint32_t epoch, std::span<const int64_t> targets,
              SampledSubgraph& out);
  /// Replaces `out` with the edges `part` of the list of one seed, which form the only hop. A list that does
  /// not fit into memory can be sampled in parts. Errors: those of the topology, InputError, BudgetExceeded.
  void sample_part(int64_t seed, const EdgeRange& part, SampledSubgraph& out);

 private:
  void begin(std::span<const int64_t> seeds, uint32_t epoch, SampledSubgraph& out);
  void expand(size_t first, size_t end, int64_t fan_out, SampledSubgraph& out);
  void choose(size_t first, size_t end, int64_t fan_out, SampledSubgraph& out);
  void number(size_t first_edge, SampledSubgraph& out);

  const Topology& topology_;
  NeighbourOptions options_;
  uint64_t seed_;
  NodeIdMap table_;
  NeighbourChoice choice_;
  Vector<uint64_t, Tag::blocks> keys_;    // Key of each seed.
  Vector<EdgeRange, Tag::blocks> lists_;  // Lists of the nodes that a hop expands.
  PredictedEdges targets_;                // Pairs that the batch predicts.
};

}  // namespace plimsoll

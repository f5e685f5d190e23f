#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "memory/vector.h"
#include "sample/neighbour/node_id_map.h"
#include "sample/typed/typed_sample.h"
#include "sample/typed/typed_topology.h"

namespace plimsoll {

/// Samples a given number of nodes of each type in each hop, for all seeds together (Hu et al.,
/// "Heterogeneous graph transformer", WWW 2020, algorithm 2). A node that has not been sampled has a sum over
/// its edges to sampled nodes: each edge adds 1 divided by the in-degree of the sampled node in the edge
/// type. Nodes are drawn without replacement, with probabilities proportional to the squares of these sums.
/// The sample has all edges of the graph between its nodes. Times and weights are ignored.
///
/// Draws are a function of (seed, epoch, the seed nodes in their order). Use one sampler per thread, because
/// it keeps scratch memory. The topology must outlive it.
class HgtSampler {
 public:
  /// `counts` [node types][hops] is the number of nodes to sample. Errors: UsageError unless there is one
  /// list for each node type, all of the same length, for a count below 0, or for more counts than Draws has
  /// streams.
  HgtSampler(const TypedTopology& topology, std::vector<std::vector<int64_t>> counts, uint64_t seed);

  /// Replaces `out` with the sample of these seeds of one type. All edges are counted in the first hop.
  /// Errors: UsageError for a node or type that does not exist; InputError for a damaged graph;
  /// BudgetExceeded.
  void sample(size_t type, std::span<const int64_t> seeds, uint32_t epoch, TypedSample& out);

 private:
  using Column = TypedSample::Column;
  // The nodes of a type that may be sampled.
  struct Candidates {
    NodeIdMap table;
    Column node, tree;
    Vector<double, Tag::blocks> sum;  // One sum per candidate; 0 once the candidate has been sampled.
  };
  void begin(size_t type, std::span<const int64_t> seeds, uint32_t epoch, TypedSample& out);
  void add_candidates(size_t edge_type, size_t first, const TypedSample& out);
  void choose(size_t type, size_t hop);
  void add_edges(size_t edge_type, TypedSample& out);
  template <typename Use>
  void each_edge(size_t edge_type, std::span<const int64_t> targets, const Use& use);

  const TypedTopology& topology_;
  std::vector<std::vector<int64_t>> counts_;
  uint64_t seed_;
  uint64_t key_ = 0;                    // Key of the batch.
  std::vector<NodeIdMap> tables_;       // Numbers of the sampled nodes, one table per node type.
  std::vector<Candidates> candidates_;  // One entry per node type.
  Vector<EdgeRange, Tag::blocks> lists_;
  Vector<int64_t, Tag::blocks> edges_;    // A part of a list.
  Vector<int64_t, Tag::blocks> sources_;  // The sources of these edges.
  Vector<std::pair<double, int64_t>, Tag::blocks> drawn_;
};

}  // namespace plimsoll

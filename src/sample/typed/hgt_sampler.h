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
/// "Heterogeneous graph transformer", WWW 2020, algorithm 2). A node that is not sampled yet has, for each of
/// its edges to a sampled node, one over the in-degree of that node in the edge type; nodes are drawn without
/// replacement in proportion to the squares of these sums. The sample has all edges of the graph between its
/// nodes.
///
/// What is drawn is a function of (seed, epoch, the seed nodes in their order). One sampler a thread: it
/// keeps scratch memory. The topology has to outlive it.
class HgtSampler {
 public:
  /// `counts` are the nodes to sample, [node types][hops]. Errors: UsageError for counts that are not one
  /// list of the same length for each node type, or below 0.
  HgtSampler(const TypedTopology& topology, std::vector<std::vector<int64_t>> counts, uint64_t seed);

  /// Replaces `out` by the sample of these seeds of one type. All edges are counted in the first hop. Errors:
  /// UsageError for a node or type that does not exist; InputError for a damaged graph; BudgetExceeded.
  void sample(size_t type, std::span<const int64_t> seeds, uint32_t epoch, TypedSample& out);

 private:
  using Column = TypedSample::Column;
  // The nodes of a type that may be sampled.
  struct Candidates {
    NodeIdMap table;
    Column node, tree;
    Vector<double, Tag::blocks> sum;  // For each candidate; 0 once it is sampled.
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
  std::vector<NodeIdMap> tables_;       // Numbers of the sampled nodes, for each type.
  std::vector<Candidates> candidates_;  // For each type.
  Vector<EdgeRange, Tag::blocks> lists_;
  Vector<int64_t, Tag::blocks> edges_;    // A part of a list.
  Vector<int64_t, Tag::blocks> sources_;  // The sources of these edges.
  Vector<std::pair<double, int64_t>, Tag::blocks> drawn_;
};

}  // namespace plimsoll

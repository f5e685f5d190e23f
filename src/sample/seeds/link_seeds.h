#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "sample/seeds/negative_edges.h"
#include "sample/seeds/seed_blocks.h"
#include "sample/topology/topology.h"
#include "store/graph.h"

namespace plimsoll {

/// Whether an edge between two nodes, either way, was held out of a graph: is one of `valid_edges` or
/// `test_edges`. O(log n) reads of the mapped columns. The graph has to outlive it. Thread-safe.
class HeldOutEdges {
 public:
  explicit HeldOutEdges(const GraphView& graph) : graph_(graph) {}
  bool contains(int64_t node, int64_t neighbour) const;

 private:
  const GraphView& graph_;
};

/// The pairs of nodes that a block of edges judges, as PyTorch Geometric's LinkNeighborLoader with binary
/// negative sampling has them: the edges, and for each so many uniform pairs without an edge, be it held out.
/// What is drawn is a function of (seed, epoch, place of the edge in its list). Not thread-safe: it keeps
/// scratch memory. Topology and graph have to outlive it.
class LinkSeeds {
 public:
  /// `topology`: of `graph`. Errors: those of NegativeEdges.
  LinkSeeds(const Topology& topology, const GraphView& graph, int64_t negatives, uint64_t seed);

  /// `nodes` become the distinct ends of all pairs, ascending; `pairs` [P, 2] places in `nodes`, the edges
  /// first; `pair_y` [P] 1 for an edge, else 0. P: block.count * (1 + negatives).
  /// Errors: InputError for an edge of nodes that are not there; those of the topology.
  void make(const SeedBlocks& blocks, const SeedBlocks::Block& block, Vector<int64_t, Tag::blocks>& nodes,
            Vector<int32_t, Tag::blocks>& pairs, Vector<float, Tag::blocks>& pair_y);

 private:
  const GraphView& graph_;
  int64_t negatives_;
  NegativeEdges negative_edges_;
  Vector<int64_t, Tag::blocks> places_;
  Vector<int64_t, Tag::blocks> numbers_;                // of negative pairs
  Vector<int64_t, Tag::blocks> neighbour_ends_, ends_;  // of all pairs
};

/// The pairs without an edge, be it held out, that the edges of a split are judged beside, whatever judges
/// them. What is drawn is a function of (seed, split, place of the edge in its column). Not thread-safe.
/// Topology and graph have to outlive it.
class JudgedNegatives {
 public:
  /// `split` counts in kGraphSplits.
  JudgedNegatives(const Topology& topology, const GraphView& graph, size_t split, uint64_t seed);

  /// Uniform, one for each of the edges first, first + 1, ...
  void uniform(int64_t first, std::span<int64_t> nodes, std::span<int64_t> neighbours);
  /// So many with the node of each of these edges: [edges, count], row by row. `nodes`: theirs. Errors:
  /// UsageError for a node that has no negative edge; those of the topology.
  void ranked(int64_t first, std::span<const int64_t> nodes, int64_t count,
              Vector<int64_t, Tag::columns>& pair_nodes, Vector<int64_t, Tag::columns>& neighbours);

 private:
  NegativeEdges negative_edges_;
  uint32_t epoch_;
  Vector<int64_t, Tag::columns> numbers_;
};

}  // namespace plimsoll

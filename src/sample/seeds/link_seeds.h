#pragma once

#include <cstdint>
#include <span>

#include "memory/vector.h"
#include "sample/seeds/negative_edges.h"
#include "sample/seeds/seed_blocks.h"
#include "sample/topology/topology.h"
#include "store/graph.h"

namespace plimsoll {

/// Tells whether an edge between two nodes, in either direction, was held out of a graph: whether it is one
/// of `valid_edges` or `test_edges`. Each lookup makes O(log n) reads of the mapped columns, which must be
/// sorted by node, then by neighbour. The graph must outlive it. Thread-safe.
class HeldOutEdges {
 public:
  explicit HeldOutEdges(const GraphView& graph) : graph_(graph) {}
  bool contains(int64_t node, int64_t neighbour) const;

 private:
  const GraphView& graph_;
};

/// Makes the node pairs of a block of edges, as PyTorch Geometric's LinkNeighborLoader does with binary
/// negative sampling: the edges, and for each edge a number of uniformly drawn pairs without an edge.
/// Held-out edges count as edges. Draws are a function of (seed, epoch, index of the edge in its list). Not
/// thread-safe: it keeps scratch memory. Topology and graph must outlive it.
class LinkSeeds {
 public:
  /// `topology` is the topology of `graph`. Errors: those of NegativeEdges.
  LinkSeeds(const Topology& topology, const GraphView& graph, int64_t negatives, uint64_t seed);

  /// Writes the distinct ends of all pairs, ascending, to `nodes`. Writes indices into `nodes` to `pairs` [P,
  /// 2], the edges first, and 1 for an edge or 0 for another pair to `pair_y` [P]. P is block.count * (1 +
  /// negatives). `block` must be of a list of edges. Errors: InputError for an edge with a node that does not
  /// exist; those of NegativeEdges::uniform().
  void make(const SeedBlocks& blocks, const SeedBlocks::Block& block, Vector<int64_t, Tag::blocks>& nodes,
            Vector<int32_t, Tag::blocks>& pairs, Vector<float, Tag::blocks>& pair_y);

 private:
  const GraphView& graph_;
  int64_t negatives_;
  NegativeEdges negative_edges_;
  Vector<int64_t, Tag::blocks> places_;
  Vector<int64_t, Tag::blocks> numbers_;                // Numbers of the negative pairs.
  Vector<int64_t, Tag::blocks> neighbour_ends_, ends_;  // Ends of all pairs.
};

/// Negative pairs for evaluating the edges of a split, the same for every model. They are pairs without an
/// edge; held-out edges count as edges. Draws are a function of (seed, split, index of the edge in its
/// column). Not thread-safe. Topology and graph must outlive it.
class EvaluationNegatives {
 public:
  /// `split` is an index into kGraphSplits. Errors: those of NegativeEdges.
  EvaluationNegatives(const Topology& topology, const GraphView& graph, size_t split, uint64_t seed);

  /// Draws one uniform pair for each of the edges first, first + 1, ..., as many as fit into `nodes` and
  /// `neighbours`, which have the same size. Errors: those of NegativeEdges::uniform().
  void uniform(int64_t first, std::span<int64_t> nodes, std::span<int64_t> neighbours);
  /// Draws `count` negative neighbours for the node of each of the edges first, first + 1, ...: `neighbours`
  /// [edges, count], row by row. `nodes` has the node of each edge; it is repeated `count` times in
  /// `pair_nodes` [edges, count]. Errors: UsageError for a node that has no negative edge; those of the
  /// topology.
  void ranked(int64_t first, std::span<const int64_t> nodes, int64_t count,
              Vector<int64_t, Tag::columns>& pair_nodes, Vector<int64_t, Tag::columns>& neighbours);

 private:
  NegativeEdges negative_edges_;
  uint32_t epoch_;
  Vector<int64_t, Tag::columns> numbers_;
};

}  // namespace plimsoll

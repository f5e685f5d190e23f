#pragma once

#include <cstdint>
#include <span>

#include "memory/tape_model.h"
#include "nn/batch.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Quantities called terms: the sizes of a block's tensors are affine functions of them. The values index
/// Terms. kPieceRows and kMaxIn describe the order of edges (kernels/edge_order.h). Groups and chunks are the
/// units of operators' workspaces.
enum Term : size_t {
  kOne,
  kGraphs,
  kNodes,
  kEdges,      ///< Number of stored edges.
  kSelfLoops,  ///< Number of self-loops among the edges.
  kItems,      ///< Number of items, if they are neither graphs nor nodes (ItemKind::has_term).
  /// Number of nodes of the largest piece. If pieces are not closed: number of parts in which gradients of
  /// weights are summed.
  kPieceRows,
  kGroups,         ///< Number of groups of pieces, or of chunks of nodes if pieces are not closed.
  kMaxIn,          ///< Maximum number of edges into one node in the order of edges.
  kSegmentGroups,  ///< Number of groups of graphs in operators on segments (ops/segment).
  kParts,  ///< Number of terms for the counts of a SampleLayout, which follow; 0 if nodes have no types.
  kTerms
};

/// Terms that follow those of `Term` if a sample is trimmed to its hops: one set of terms for the nodes
/// within each of 0 .. hops-1 hops of its seeds (GraphBlock::prefixes).
enum PrefixTerm : size_t {
  kPrefixNodes,
  kPrefixEdges,
  kPrefixSelfLoops,
  kPrefixParts,   ///< Number of parts in which gradients of weights are summed.
  kPrefixChunks,  ///< Number of chunks of nodes.
  kPrefixMaxIn,
  kPrefixTerms
};
/// Returns the index in Terms of a term of a prefix.
constexpr size_t place_of(size_t prefix, PrefixTerm term) {
  return kTerms + prefix * kPrefixTerms + term;
}
/// Returns the number of prefixes in `terms`; 0: the blocks are not trimmed.
inline size_t prefixes_in(const Terms& terms) {
  return terms[kParts] > 0 ? 0 : (terms.size() - kTerms) / kPrefixTerms;
}
/// Returns the number of nodes that the last layer computes: the seeds, or all nodes.
inline int64_t nodes_computed(const Terms& terms) {
  if (terms[kParts] > 0) return terms[kGraphs];
  return terms[prefixes_in(terms) > 0 ? place_of(0, kPrefixNodes) : size_t{kNodes}];
}

/// The sizes of a source's graphs and, if the graphs are samples, their prefixes (BlockSource::prefix_shapes)
/// or, if nodes have types, their parts. A view of arrays that must outlive it.
struct BlockShapes {
  GraphShapes graphs;
  std::span<const GraphShape> prefixes = {};
  std::span<const int32_t> parts = {};  ///< BlockSource::part_counts().

  size_t part_counts() const { return parts.empty() ? 0 : parts.size() / graphs.stored().size(); }
  std::span<const int32_t> parts_of(int64_t graph) const {
    return parts.subspan(graphs.bounded().place_of(graph) * part_counts(), part_counts());
  }
  size_t hops() const { return prefixes.empty() ? 0 : prefixes.size() / graphs.stored().size(); }
  std::span<const GraphShape> prefixes_of(int64_t graph) const {
    return prefixes.subspan(graphs.bounded().place_of(graph) * hops(), hops());
  }
};

/// The terms of one block. Blocks whose order has closed pieces run different operations from other blocks,
/// so each of the two kinds has its own tape.
struct BlockTerms {
  Terms terms = Terms(kTerms, 0);
  bool closed = true;
};

/// Counts the terms of a block of these graphs.
BlockTerms terms_of(std::span<const int64_t> graphs, const BlockShapes& shapes,
                    const CollateOptions& options);
/// Does the same, and reuses the memory of `terms`.
void count_terms(std::span<const int64_t> graphs, const BlockShapes& shapes, const CollateOptions& options,
                 BlockTerms& terms);

/// Sets the terms that are not sums over graphs to their maximum, given the other terms in `highest`.
void complete_corner(std::span<const int64_t> graphs, const BlockShapes& shapes,
                     const CollateOptions& options, bool closed, Terms& highest);

}  // namespace plimsoll

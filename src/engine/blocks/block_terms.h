#pragma once

#include <cstdint>
#include <span>

#include "memory/tape_model.h"
#include "nn/batch.h"
#include "sample/block/block.h"

namespace plimsoll {

/// What the sizes of a block's tensors are affine in: places in Terms. Pieces and max_in are those of the
/// order of edges (kernels/edge_order.h), groups and chunks what operators' workspaces are counted in.
enum Term : size_t {
  kOne,
  kGraphs,
  kNodes,
  kEdges,      ///< stored
  kSelfLoops,  ///< among them
  kItems,      ///< where they are neither graphs nor nodes (ItemKind::has_term)
  kPieceRows,  ///< nodes of the largest piece
  kGroups,     ///< of pieces, or chunks of nodes where there are no pieces
  kMaxIn,      ///< the most edges into one node, as the order has them
  kSegmentGroups,
  kTerms
};

/// After them in the terms of a sample that is trimmed to its hops: those of what lies within 0 .. hops-1
/// hops of its seeds (GraphBlock::prefixes).
enum PrefixTerm : size_t {
  kPrefixNodes,
  kPrefixEdges,
  kPrefixSelfLoops,
  kPrefixParts,   ///< that gradients of weights are summed in
  kPrefixChunks,  ///< of nodes
  kPrefixMaxIn,
  kPrefixTerms
};
constexpr size_t place_of(size_t prefix, PrefixTerm term) {
  return kTerms + prefix * kPrefixTerms + term;
}
/// Prefixes among terms; 0: blocks are not trimmed.
inline size_t prefixes_in(const Terms& terms) {
  return (terms.size() - kTerms) / kPrefixTerms;
}
/// The nodes that the last layer makes: seeds, or all.
inline int64_t nodes_judged(const Terms& terms) {
  return terms[prefixes_in(terms) > 0 ? place_of(0, kPrefixNodes) : size_t{kNodes}];
}

/// The sizes of a source's graphs, one for each, and of samples those of their prefixes
/// (BlockSource::prefix_shapes).
struct BlockShapes {
  std::span<const GraphShape> graphs;
  std::span<const GraphShape> prefixes = {};

  size_t hops() const { return prefixes.empty() ? 0 : prefixes.size() / graphs.size(); }
  std::span<const GraphShape> prefixes_of(size_t graph) const {
    return prefixes.subspan(graph * hops(), hops());
  }
};

/// Of one block. Blocks whose order has closed pieces and those whose has not run through different
/// operations: each kind has its own tape.
struct BlockTerms {
  Terms terms = Terms(kTerms, 0);
  bool closed = true;
};

BlockTerms terms_of(std::span<const int64_t> graphs, const BlockShapes& shapes,
                    const CollateOptions& options);
/// The same into memory that is used again.
void count_terms(std::span<const int64_t> graphs, const BlockShapes& shapes, const CollateOptions& options,
                 BlockTerms& terms);

/// Fills in the terms that are no sums over graphs, as high as they can be for the others in `highest`.
void complete_corner(std::span<const int64_t> graphs, const BlockShapes& shapes,
                     const CollateOptions& options, bool closed, Terms& highest);

}  // namespace plimsoll

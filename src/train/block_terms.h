#pragma once

#include <cstdint>
#include <span>

#include "memory/tape_model.h"
#include "nn/batch.h"
#include "sample/block.h"

namespace plimsoll {

/// What the sizes of a block's tensors are affine in: places in Terms. Pieces and most_in are those of the
/// order of edges (kernels/edge_order.h), groups and chunks what operators' workspaces are counted in.
enum Term : size_t {
  kOne,
  kGraphs,
  kNodes,
  kEdges,      ///< stored
  kSelfLoops,  ///< among them
  kItems,      ///< labelled nodes or pairs, where these are judged
  kPieceRows,  ///< nodes of the largest piece
  kGroups,     ///< of pieces, or chunks of nodes where there are no pieces
  kMostIn,     ///< the most edges into one node, as the order has them
  kSegmentGroups,
  kTerms
};

/// Of one block. Blocks whose order has closed pieces and those whose has not run through different
/// operations: each kind has its own tape.
struct BlockTerms {
  Terms terms = Terms(kTerms, 0);
  bool closed = true;
};

BlockTerms terms_of(std::span<const int64_t> graphs, std::span<const GraphShape> shapes,
                    const CollateOptions& options);
/// The same into memory that is used again.
void count_terms(std::span<const int64_t> graphs, std::span<const GraphShape> shapes,
                 const CollateOptions& options, BlockTerms& terms);

/// Fills in the terms that are no sums over graphs, as high as they can be for the others in `highest`.
void complete_corner(std::span<const int64_t> graphs, std::span<const GraphShape> shapes,
                     const CollateOptions& options, bool closed, Terms& highest);

}  // namespace plimsoll

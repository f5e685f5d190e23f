#pragma once

#include <algorithm>

#include "kernels/edge_order.h"
#include "ops/attention/attention_layer.h"
#include "ops/segment/segment_cpu.h"

namespace plimsoll {

/// Terms that operators' workspaces depend on in addition to the counts of a block. They describe how its
/// order of edges cuts the nodes into pieces, and are computed from the graphs' sizes alone.
class OrderTerms {
 public:
  static constexpr int64_t kPieceNodes = plimsoll::kPieceNodes;
  static constexpr int64_t kMaxPieceNodes = plimsoll::kMaxPieceNodes;
  static constexpr int64_t kSegmentGrain = plimsoll::kSegmentGrain;
  static constexpr int64_t kChunkRows = AttentionRanges::kNodes;

  /// Adds the next graph of the block.
  void add(int64_t nodes) { pieces_.add(nodes); }
  /// Call it after the last graph.
  void end() { pieces_.end(); }

  /// Whether pieces are closed. Operators use another code path if they are not.
  bool closed() const { return pieces_.closed(); }
  /// Rows of the largest piece if pieces are closed, otherwise the number of parts in which gradients of
  /// weights are summed.
  int64_t piece_rows(int64_t nodes) const { return closed() ? pieces_.largest() : transposed_groups(nodes); }
  /// Number of groups of pieces if pieces are closed, otherwise number of chunks of kChunkRows nodes.
  int64_t groups(int64_t nodes) const {
    return closed() ? AttentionRanges::groups_of(pieces_.pieces()) : (nodes + kChunkRows - 1) / kChunkRows;
  }
  /// Number of groups of a block's graphs in operators on segments.
  static int64_t segment_groups(int64_t graphs) {
    return std::max<int64_t>((graphs + kSegmentGrain - 1) / kSegmentGrain, 1);
  }
  /// Maximum of groups() over all blocks of `nodes` nodes whose pieces are closed.
  static int64_t max_groups(int64_t nodes) { return AttentionRanges::groups_of(nodes / kPieceNodes + 1); }

 private:
  PieceCount pieces_;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>

#include "memory/vector.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Nodes with all their neighbours: one piece, or the most of each over pieces.
struct PieceSize {
  int64_t targets = 0;  ///< nodes that are judged
  int64_t edges = 0;    ///< into them
  int64_t nodes = 0;    ///< these, and where the edges come from
  int64_t max_in = 0;   ///< edges into one node

  void raise_to(const PieceSize& other);
  /// An n-th of each, rounded up.
  PieceSize part(int64_t n) const;
};

/// A graph's nodes cut into pieces.
struct Pieces {
  Vector<int64_t, Tag::columns> begins{0};  ///< places among nodes 0 .. V-1, with V at the end
  PieceSize largest;                        ///< the most of each
  int64_t count() const { return std::ssize(begins) - 1; }
};

/// What a thread that judges pieces takes, in bytes.
struct PieceMemory {
  int64_t tensors = 0;  ///< a range of the slab
  int64_t graphs = 0;   ///< the sample, and the block that is made of it
  int64_t heap = 0;     ///< beside the ledger
  int64_t sum() const { return tensors + graphs + heap; }
};

/// A block of such a size, with every row 0: into one node go max_in edges, into the others the rest. What
/// a model takes for it is what it takes for any piece that is no larger, but for holes.
void make_up_piece(const PieceSize& size, const RowWidths& widths, GraphBlock& block);

/// Bytes of the sample of a piece, of the block that is made of it, and of what else a worker keeps.
int64_t graph_bytes_of(const PieceSize& size, const RowWidths& widths);

}  // namespace plimsoll

#pragma once

#include <cstdint>

#include "memory/vector.h"
#include "sample/block/block.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// The size of a piece, which is some nodes with all their neighbours, or the maximum of each size over
/// pieces.
struct PieceSize {
  int64_t targets = 0;  ///< Number of nodes that are predicted.
  int64_t edges = 0;    ///< Number of edges into the targets.
  int64_t nodes = 0;    ///< Number of nodes of the piece: targets, and nodes from which edges lead to
                        ///< targets.
  int64_t max_in = 0;   ///< Maximum number of edges into one node.

  void raise_to(const PieceSize& other);
  /// Returns 1/n of each size, rounded up.
  PieceSize part(int64_t n) const;
};

/// A piece ends before it would exceed either maximum. A node with more edges is a hub: it is computed alone,
/// in chunks of kPieceEdges of its edges, each of which is a piece.
inline constexpr int64_t kPieceTargets = 1024;
inline constexpr int64_t kPieceEdges = 16384;

/// Consecutive nodes with all their neighbours, or one chunk of the edges of a hub.
struct Piece {
  int64_t begin = 0;  ///< The first node.
  int64_t end = 0;    ///< The node after the last.
  int64_t chunk = 0;  ///< The index of the chunk, among `chunks`.
  int64_t chunks = 1;

  bool is_chunk() const { return chunks > 1; }
  bool is_last_chunk() const { return chunk + 1 == chunks; }
};

/// A graph's nodes cut into pieces.
struct Pieces {
  /// First node of each piece, among nodes 0 .. V-1, followed by V. A hub occurs once per chunk.
  Vector<int64_t, Tag::columns> begins{0};
  Vector<int64_t, Tag::columns> edges;  ///< Number of edges of each piece.
  PieceSize largest;                    ///< Maximum of each size.

  int64_t count() const { return std::ssize(begins) - 1; }
  Piece at(int64_t number) const;
  /// The number of nodes that are complete once piece `number` and all before it are.
  int64_t nodes_until(int64_t number) const { return begins[static_cast<size_t>(number) + 1]; }
};

/// Cuts the nodes of a graph at the same places for every budget and number of threads. Errors: those of the
/// topology.
Pieces cut_pieces(const Topology& topology);

/// Memory of a thread that predicts pieces, in bytes.
struct PieceMemory {
  int64_t tensors = 0;  ///< Bytes of the thread's range of the slab.
  int64_t graphs = 0;   ///< Bytes of the sample, and of the block made from it.
  int64_t heap = 0;     ///< Bytes outside the ledger.
  int64_t sum() const { return tensors + graphs + heap; }
};

/// Makes a block of the given size with zero rows: max_in edges lead to one node, and the rest to the other
/// nodes. The memory that a model needs for it is an upper bound for any piece that is no larger, except for
/// holes.
void make_up_piece(const PieceSize& size, const RowWidths& widths, GraphBlock& block);

/// Returns the bytes of the sample of a piece, of the block made from it, and of other memory that a worker
/// keeps.
int64_t graph_bytes_of(const PieceSize& size, const RowWidths& widths);

}  // namespace plimsoll

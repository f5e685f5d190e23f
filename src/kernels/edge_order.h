#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace plimsoll {

/// Edges in the order in which attention reads them: by target, and among those of a target in the caller's
/// order. It lies in an array of the caller's, of edge_order_size() numbers; this is a view of it.
///
/// Nodes are also cut into closed pieces: ranges that no edge leaves, such as one or a few small graphs of a
/// batch. A piece belongs to one thread, forward and backward, and stays in its cache.
struct EdgeOrder {
  int64_t sources = 0;  ///< nodes that edges come from
  int64_t targets = 0;  ///< nodes that edges go to
  int64_t edges = 0;    ///< edges kept; of the caller's, self-loops may be left out
  int64_t max_in = 0;   ///< the most edges of one target
  int64_t pieces = 0;
  bool closed = false;                 ///< pieces are closed and small; else there is one piece, all nodes
  const int32_t* in_ptr = nullptr;     ///< [targets + 1] positions of each target's edges
  const int32_t* source = nullptr;     ///< [edges] by position
  const int32_t* edge = nullptr;       ///< [edges] the caller's edge, by position
  const int32_t* piece_ptr = nullptr;  ///< [pieces + 1] nodes
};

/// Nodes in a piece, if its graphs allow it, and the most that a piece may have to count as small.
inline constexpr int64_t kPieceNodes = 512;
inline constexpr int64_t kMaxPieceNodes = 8192;

/// Cuts a row of graphs into pieces: as soon as a piece has kPieceNodes nodes. What it says is what an order
/// has whose maker is told the graphs.
class PieceCount {
 public:
  /// The next graph, which may be empty; whether a piece ends after it.
  bool add(int64_t nodes);
  /// After the last graph; whether a piece ends there.
  bool end();

  /// Whether all pieces are small; else the order has one, and what follows says nothing.
  bool closed() const { return pieces_ > 0 && largest_ <= kMaxPieceNodes; }
  int64_t pieces() const { return pieces_; }
  int64_t largest() const { return largest_; }  ///< nodes of the largest

 private:
  int64_t pieces_ = 0;
  int64_t largest_ = 0;
  int64_t nodes_ = 0;  // of the piece that has not ended
};

/// Numbers that an order of so many targets and edges takes.
constexpr int64_t edge_order_size(int64_t targets, int64_t edges) {
  return 8 + 2 * (targets + 1) + 2 * edges;
}

/// Fills `order` [edge_order_size()] from the caller's edges, source[e] -> target[e]. Sources and targets are
/// the same nodes if `same_nodes`; then self-loops can be left out (`drop_loops`), and pieces are looked for:
/// where no edge passes, or, if they are given, between graphs, of which graph g has the nodes ptr[g] ..
/// ptr[g+1]-1. Errors: InputError for an index out of range, an edge between graphs, and a ptr that does not
/// rise from 0 to the number of nodes; UsageError for more than 2^31 - 1 nodes or edges.
void make_edge_order(const int64_t* source, const int64_t* target, int64_t edges, int64_t sources,
                     int64_t targets, bool same_nodes, bool drop_loops, int32_t* order,
                     std::span<const int64_t> ptr = {});

/// The view of a filled order. Errors: InputError when it is not one of these counts.
EdgeOrder view_edge_order(const int32_t* order, int64_t size, int64_t sources, int64_t targets,
                          int64_t edges);

/// Numbers in front of an order's arrays, which follow each other: in_ptr, piece_ptr, source, edge. An order
/// that is made on a device knows two of them there alone, and has one piece.
inline constexpr int64_t kOrderHead = 8;
inline constexpr int64_t kOrderKept = 4;   ///< edges of the order
inline constexpr int64_t kOrderMaxIn = 5;  ///< the most of one target
std::array<int32_t, kOrderHead> edge_order_head(int64_t sources, int64_t targets, int64_t edges, int64_t kept,
                                                int64_t max_in);

/// The view of an order in memory that the host cannot read: `edges` are the caller's, and counts of edges
/// and pieces are not known. Kernels of attention_cuda.h take it.
EdgeOrder view_device_order(const int32_t* order, int64_t sources, int64_t targets, int64_t edges);

/// The same edges by source: out_ptr [sources + 1], and by out position the position in `order` and the
/// target, both [edges].
void transpose_edge_order(const EdgeOrder& order, int32_t* out_ptr, int32_t* position, int32_t* target);

}  // namespace plimsoll

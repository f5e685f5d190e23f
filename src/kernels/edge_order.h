#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace plimsoll {

/// Edges in the order in which attention reads them: sorted by target, and for each target in the caller's
/// order. The order is stored in an array of edge_order_size() numbers that the caller owns; this is a view
/// of it.
///
/// Nodes are also cut into closed pieces: ranges that no edge leaves, such as one or a few small graphs of a
/// batch. Each piece is processed by one thread, forward and backward, and stays in its cache.
struct EdgeOrder {
  int64_t sources = 0;  ///< Number of nodes that edges come from.
  int64_t targets = 0;  ///< Number of nodes that edges go to.
  int64_t edges = 0;    ///< Number of edges in the order; the caller's self-loops may be left out.
  int64_t max_in = 0;   ///< Maximum edges of one target.
  int64_t pieces = 0;
  bool closed = false;                 ///< Whether pieces are closed and small; otherwise there is one piece
                                       ///< with all nodes.
  const int32_t* in_ptr = nullptr;     ///< [targets + 1] positions of each target's edges.
  const int32_t* source = nullptr;     ///< [edges] by position.
  const int32_t* edge = nullptr;       ///< [edges] the caller's edge, by position.
  const int32_t* piece_ptr = nullptr;  ///< [pieces + 1] nodes.
};

/// kPieceNodes is the number of nodes at which a piece ends, if its graphs allow it. kMaxPieceNodes is the
/// maximum number of nodes of a piece that counts as small.
inline constexpr int64_t kPieceNodes = 512;
inline constexpr int64_t kMaxPieceNodes = 8192;

/// Cuts consecutive graphs into pieces: a piece ends as soon as it has kPieceNodes nodes. The result is the
/// same as for an order made with the graphs' ptr.
class PieceCount {
 public:
  /// Adds the next graph, which may be empty. Returns whether a piece ends after it.
  bool add(int64_t nodes);
  /// Ends the sequence of graphs. Returns whether a last piece ends after it.
  bool end();

  /// Returns whether all pieces are small. If not, the order has one piece, and the counts below are
  /// meaningless.
  bool closed() const { return pieces_ > 0 && largest_ <= kMaxPieceNodes; }
  int64_t pieces() const { return pieces_; }
  int64_t largest() const { return largest_; }  ///< Nodes of the largest piece.

 private:
  int64_t pieces_ = 0;
  int64_t largest_ = 0;
  int64_t nodes_ = 0;  // Number of nodes in the current piece.
};

/// Returns the length of the array for an order with these counts of targets and edges.
constexpr int64_t edge_order_size(int64_t targets, int64_t edges) {
  return 8 + 2 * (targets + 1) + 2 * edges;
}

/// Fills `order` [edge_order_size()] from the caller's edges, source[e] -> target[e]. If `same_nodes`,
/// sources and targets are the same nodes. Then self-loops can be left out (`drop_loops`), and the nodes are
/// cut into pieces. If ptr is given, graph g has the nodes ptr[g] .. ptr[g+1]-1, and the cuts are between
/// graphs; otherwise they are at places that no edge crosses. Errors: InputError for an index out of range,
/// an edge between two graphs, or a ptr that does not rise from 0 to the number of nodes; UsageError for 2^31
/// - 1 or more nodes or edges. `drop_loops` and `ptr` may be used only with `same_nodes`.
void make_edge_order(const int64_t* source, const int64_t* target, int64_t edges, int64_t sources,
                     int64_t targets, bool same_nodes, bool drop_loops, int32_t* order,
                     std::span<const int64_t> ptr = {});

/// Returns the view of a filled order. Errors: InputError if the order has other counts.
EdgeOrder view_edge_order(const int32_t* order, int64_t size, int64_t sources, int64_t targets,
                          int64_t edges);

/// Number of header entries before an order's arrays, which are in_ptr, piece_ptr, source and edge, in this
/// sequence. An order that is made on a device has one piece, and only the device knows two of the header
/// entries.
inline constexpr int64_t kOrderHead = 8;
inline constexpr int64_t kOrderKept = 4;   ///< Index of the number of edges of the order.
inline constexpr int64_t kOrderMaxIn = 5;  ///< Index of the maximum edges of one target.
/// Returns the header of an order of one piece that is not closed. `kept` is the number of edges in the
/// order.
std::array<int32_t, kOrderHead> edge_order_head(int64_t sources, int64_t targets, int64_t edges, int64_t kept,
                                                int64_t max_in);

/// Returns the view of an order in memory that the host cannot read. `edges` is the number of the caller's
/// edges; the numbers of kept edges and of pieces are unknown to the host. Kernels of attention_gpu.h accept
/// such a view.
EdgeOrder view_device_order(const int32_t* order, int64_t sources, int64_t targets, int64_t edges);

/// Sorts the edges of `order` by source. Source j has the entries out_ptr[j] .. out_ptr[j+1]-1 of `position`,
/// the edge's position in `order`, and of `target`. out_ptr is [sources + 1], position and target are
/// [order.edges]. The caller owns these arrays.
void transpose_edge_order(const EdgeOrder& order, int32_t* out_ptr, int32_t* position, int32_t* target);

}  // namespace plimsoll

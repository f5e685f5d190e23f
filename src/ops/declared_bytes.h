#pragma once

#include <c10/core/ScalarType.h>

#include "kernels/edge_order.h"
#include "ops/attention.h"
#include "ops/path_memory.h"

namespace plimsoll {

/// What an operator takes from torch's allocator, in bytes: forward has output + saved + workspace at its
/// peak and output + saved when it is done; backward has output (gradients) + workspace. Inputs and incoming
/// gradients, which are taken to be contiguous, are not counted.
///
/// For f32 and f64 these are the numbers to the byte with one thread; several may take less at once, never
/// more than declared for their number. For bf16 the room of the library that multiplies is an upper bound,
/// and small tensors are taken to be bf16. What BLAS takes for f32 and f64 does not pass torch's allocator.
struct DeclaredBytes {
  int64_t output = 0;
  int64_t saved = 0;  ///< for backward, beyond inputs and output
  int64_t workspace = 0;

  int64_t peak() const { return output + saved + workspace; }
  bool operator==(const DeclaredBytes&) const = default;
};

/// What workspaces depend on beside counts: how the order of edges cuts the nodes.
struct OrderSizes {
  bool closed = false;
  int64_t pieces = 0;
  int64_t largest = 0;  ///< nodes of a piece
  int64_t edges = 0;    ///< without self-loops that the order leaves out
  int64_t most_in = 0;  ///< edges of one target
  int64_t numbers = 0;  ///< that the order takes, where orders are told apart by it
};
/// Of an order that is there, and the most that one can have for so many graphs that are edges' own nodes, of
/// which self_loops are left out, if none has more than graph_nodes nodes.
OrderSizes order_sizes(const EdgeOrder& order);
OrderSizes most_order_sizes(int64_t graphs, int64_t nodes, int64_t edges, int64_t self_loops,
                            int64_t graph_nodes);

/// A layer: E of `edges` counts the caller's. target_features is 0 where targets are the sources.
struct AttentionShape {
  int64_t sources = 0, targets = 0, edges = 0;
  int64_t features = 0, target_features = 0, edge_features = 0;
  int64_t heads = 1, channels = 1;
  at::ScalarType dtype = at::kFloat;
  OrderSizes order = {};
  bool other_targets = false;
  bool loops = false;
  bool bias = true;  ///< GATv2: also of projections
  bool keep_projection = true;
  bool return_attention = false;
  bool share_weights = false;  ///< GATv2 alone
  int threads = 1;
};

DeclaredBytes declare_edge_order(int64_t targets, int64_t edges);
DeclaredBytes declare_gat(const AttentionShape& shape);
DeclaredBytes declare_gat_backward(const AttentionShape& shape, bool needs_x, bool needs_edge_attr);
DeclaredBytes declare_gatv2(const AttentionShape& shape);
DeclaredBytes declare_gatv2_backward(const AttentionShape& shape, bool needs_x, bool needs_edge_attr);

/// One layer of messages over third-order paths; what it takes does not depend on how many there are.
DeclaredBytes declare_path_edges(int64_t nodes, int64_t edges);
DeclaredBytes declare_spanning_path_edges(int64_t nodes, int64_t edges, bool both);
DeclaredBytes declare_path_message(const PathSizes& sizes, at::ScalarType dtype);
DeclaredBytes declare_path_message_backward(const PathSizes& sizes, at::ScalarType dtype);

/// Operators on G segments of N rows of F columns.
struct SegmentShape {
  int64_t segments = 0, rows = 0, features = 0;
  at::ScalarType dtype = at::kFloat;
};
DeclaredBytes declare_segment_reduce(const SegmentShape& shape);
DeclaredBytes declare_segment_reduce_backward(const SegmentShape& shape);
DeclaredBytes declare_segment_softmax(const SegmentShape& shape);
DeclaredBytes declare_segment_softmax_backward(const SegmentShape& shape);
DeclaredBytes declare_gather_csr(const SegmentShape& shape);
DeclaredBytes declare_gather_csr_backward(const SegmentShape& shape);
DeclaredBytes declare_graph_norm(const SegmentShape& shape);
DeclaredBytes declare_graph_norm_backward(const SegmentShape& shape);

}  // namespace plimsoll

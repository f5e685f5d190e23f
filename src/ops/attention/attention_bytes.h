#pragma once

#include <c10/core/ScalarType.h>

#include "ops/attention/attention.h"

namespace plimsoll {

/// Bytes that an attention layer requests from torch's allocator. Forward holds output + saved + workspace at
/// its peak and output + saved at its end. Backward holds output (the gradients) + workspace. Inputs and
/// incoming gradients are not counted and are assumed to be contiguous. Plans read only `workspace`, because
/// a layer without data allocates its output and saved tensors like one with data (ops/meta_tensors.h).
///
/// For f32 and f64 with one thread, the values are exact to the byte. With several threads, they are upper
/// bounds. For bf16, the buffer of the matrix library is an upper bound, and small tensors are assumed to be
/// bf16. Memory that BLAS allocates for f32 and f64 does not come from torch's allocator, and is not counted.
struct AttentionBytes {
  int64_t output = 0;
  int64_t saved = 0;  ///< Kept for backward, in addition to inputs and output.
  int64_t workspace = 0;

  int64_t peak() const { return output + saved + workspace; }
};

/// Sizes on which workspaces depend in addition to counts. They describe the pieces into which an order of
/// edges cuts the nodes.
struct OrderSizes {
  bool closed = false;
  int64_t pieces = 0;
  int64_t largest = 0;  ///< Nodes of the largest piece.
  int64_t edges = 0;    ///< Number of edges in the order, without the self-loops that were left out.
  int64_t max_in = 0;   ///< Maximum edges of one target.
  int64_t numbers = 0;  ///< Length of the order's array, which identifies the order.
};

/// The shape of a layer. `edges` is E, the number of the caller's edges. target_features is 0 if targets are
/// the sources.
struct AttentionShape {
  int64_t sources = 0, targets = 0, edges = 0;
  int64_t features = 0, target_features = 0, edge_features = 0;
  int64_t heads = 1, channels = 1;
  at::ScalarType dtype = at::kFloat;
  OrderSizes order = {};
  bool other_targets = false;
  bool loops = false;
  bool bias = true;  ///< Whether projections have a bias (GATv2 only).
  bool keep_projection = true;
  bool return_attention = false;
  bool share_weights = false;  ///< For GATv2 only.
  int threads = 1;
};

AttentionBytes gat_bytes(const AttentionShape& shape);
AttentionBytes gat_backward_bytes(const AttentionShape& shape, bool needs_x, bool needs_edge_attr);
AttentionBytes gatv2_bytes(const AttentionShape& shape);
AttentionBytes gatv2_backward_bytes(const AttentionShape& shape, bool needs_x, bool needs_edge_attr);

}  // namespace plimsoll

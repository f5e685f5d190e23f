#pragma once

#include <c10/core/ScalarType.h>

#include "ops/attention.h"

namespace plimsoll {

/// What an attention layer takes from torch's allocator, in bytes: forward has output + saved + workspace at
/// its peak and output + saved when it is done; backward has output (gradients) + workspace. Inputs and
/// incoming gradients, which are taken to be contiguous, are not counted. Plans read `workspace` alone: a
/// layer without data asks for its output and what it keeps as one with data does (ops/meta_tensors.h).
///
/// For f32 and f64 these are the numbers to the byte with one thread; several may take less at once, never
/// more than for their number. For bf16 the room of the library that multiplies is an upper bound, and small
/// tensors are taken to be bf16. What BLAS takes for f32 and f64 does not pass torch's allocator.
struct AttentionBytes {
  int64_t output = 0;
  int64_t saved = 0;  ///< for backward, beyond inputs and output
  int64_t workspace = 0;

  int64_t peak() const { return output + saved + workspace; }
};

/// What workspaces depend on beside counts: how the order of edges cuts the nodes.
struct OrderSizes {
  bool closed = false;
  int64_t pieces = 0;
  int64_t largest = 0;  ///< nodes of a piece
  int64_t edges = 0;    ///< without self-loops that the order leaves out
  int64_t max_in = 0;   ///< edges of one target
  int64_t numbers = 0;  ///< that the order takes, where orders are told apart by it
};

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

AttentionBytes gat_bytes(const AttentionShape& shape);
AttentionBytes gat_backward_bytes(const AttentionShape& shape, bool needs_x, bool needs_edge_attr);
AttentionBytes gatv2_bytes(const AttentionShape& shape);
AttentionBytes gatv2_backward_bytes(const AttentionShape& shape, bool needs_x, bool needs_edge_attr);

}  // namespace plimsoll

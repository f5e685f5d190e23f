#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll {

/// Inputs of attention of targets over the sources of their edges. There are S sources, T targets, and H
/// heads of D channels. All real tensors have one dtype, f32 or f64.
struct NeighbourAttentionTensors {
  at::Tensor key;    ///< [S, H*D].
  at::Tensor value;  ///< [S, H*D]; undefined: the keys.
  at::Tensor query;  ///< [T, H*D].
  at::Tensor order;  ///< i32, the edges sorted by target (ops/attention/attention.h).
  at::Tensor att;    ///< [H, D] for GATv2's scores; undefined for dot products.
};

struct NeighbourAttentionOutput {
  at::Tensor out;      ///< [T, H*D].
  at::Tensor log_sum;  ///< [T, H].
};

struct NeighbourAttentionInputGradients {
  at::Tensor key, value, query, att;  ///< Undefined if there is no such input.
};

/// Compute the results and the gradients, which torch.ops.plimsoll.neighbour_attention calls. grad_log_sum
/// may be undefined. Without data, backward allocates the same and computes nothing.
NeighbourAttentionOutput neighbour_attention_forward(const NeighbourAttentionTensors& in, int64_t heads,
                                                     double slope);
NeighbourAttentionInputGradients neighbour_attention_backward(const at::Tensor& grad_out,
                                                              const at::Tensor& grad_log_sum,
                                                              const NeighbourAttentionTensors& in,
                                                              const NeighbourAttentionOutput& saved,
                                                              int64_t heads, double slope);

/// Computes the formulas of kernels/neighbour_attention/neighbour_attention.h, with gradients of out and
/// log_sum by key, value, query and att. With log_sum, results of several edge types are one softmax.
/// Allocates nothing but its results, so its memory depends on S and T alone: gat() and gatv2() also need
/// scratch by the most edges of a target and by ranges of nodes, which blocks with node types do not count.
/// CPU only. torch.ops.plimsoll.neighbour_attention is the same function. Thread-safe; the bits are the same
/// for any number of threads. Errors: UsageError for wrong shapes or dtypes, and for second derivatives;
/// InputError for an order with other counts.
NeighbourAttentionOutput neighbour_attention(const NeighbourAttentionTensors& in, int64_t heads,
                                             double slope);

}  // namespace plimsoll

#pragma once

#include <ATen/core/Tensor.h>

namespace plimsoll {

/// Sums over the edges into each node, the aggregation of GCN, GIN and GraphSAGE (kernels/aggregate.h):
///
///     out_i = target_scale_i * sum of source_scale_j x_j   over the edges from j to i
///
/// x f32 or f64 [N, F] over the N nodes of `order` (ops/attention.h); each scale [N] of x's dtype, or
/// undefined for 1. Differentiable once, by x alone. torch.ops.plimsoll.aggregate is the same; no tensor of
/// size edges x F is made. Errors: UsageError for shapes and dtypes; InputError for an order of other counts.
at::Tensor aggregate(const at::Tensor& x, const at::Tensor& order, const at::Tensor& source_scale,
                     const at::Tensor& target_scale);

/// How many edges of `order` go into each of its `nodes` nodes, f32 [nodes].
at::Tensor in_degrees(const at::Tensor& order, int64_t nodes);

}  // namespace plimsoll

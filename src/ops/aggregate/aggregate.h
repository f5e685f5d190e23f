#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace plimsoll {

/// Sums over the incoming edges of each node: the aggregation of GCN, GIN and GraphSAGE
/// (kernels/aggregate/aggregate.h):
///
/// out_i = target_scale_i * sum of edge_scale_e source_scale_j x_j   over the edges e from j to i
///
/// x is f32 or f64 [S, F], one row per source of `order` (ops/attention/attention.h). The result is [T, F],
/// one row per target; T = S unless `targets` is given. Scales have x's dtype and are [S], [T] and, in the
/// order of the caller's edges, [E]; an undefined scale stands for 1. Differentiable once, by x only.
/// torch.ops.plimsoll.aggregate is the same function. No tensor of size edges x F is allocated. Errors:
/// UsageError for wrong shapes or dtypes, and for a scale that requires a gradient; InputError for an order
/// with other counts.
at::Tensor aggregate(const at::Tensor& x, const at::Tensor& order, const at::Tensor& source_scale,
                     const at::Tensor& target_scale, std::optional<int64_t> targets = std::nullopt,
                     const at::Tensor& edge_scale = {});

/// Returns the number of edges of `order` into each of its targets, f32 [targets].
/// torch.ops.plimsoll.in_degrees is the same function. Errors: UsageError if `order` is not i32 of one
/// dimension; InputError for an order with other counts.
at::Tensor in_degrees(const at::Tensor& order, int64_t sources, int64_t targets);

}  // namespace plimsoll

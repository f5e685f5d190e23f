#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace plimsoll {

/// Sums over the edges into each node, the aggregation of GCN, GIN and GraphSAGE (kernels/aggregate.h):
///
///     out_i = target_scale_i * sum of edge_scale_e source_scale_j x_j   over the edges e from j to i
///
/// x f32 or f64 [S, F] over the sources of `order` (ops/attention.h), the result [T, F] over its targets,
/// which are as many as sources unless `targets` says so; scales [S], [T] and [E], in the order of the
/// caller's edges, of x's dtype, or undefined for 1. Differentiable once, by x alone.
/// torch.ops.plimsoll.aggregate is the same; no tensor of size edges x F is made. Errors: UsageError for
/// shapes and dtypes; InputError for an order of other counts.
at::Tensor aggregate(const at::Tensor& x, const at::Tensor& order, const at::Tensor& source_scale,
                     const at::Tensor& target_scale, std::optional<int64_t> targets = std::nullopt,
                     const at::Tensor& edge_scale = {});

/// How many edges of `order` go into each of its targets, f32 [targets]; torch.ops.plimsoll.in_degrees is the
/// same.
at::Tensor in_degrees(const at::Tensor& order, int64_t sources, int64_t targets);

}  // namespace plimsoll

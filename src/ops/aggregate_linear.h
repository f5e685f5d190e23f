#pragma once

#include <ATen/core/Tensor.h>

namespace plimsoll {

/// A sum over the edges into each node and a linear layer of it in one piece, as GraphSAGE and the first
/// layer of GIN's network have them:
///
///     h_i = target_scale_i * sum of x_j over the edges from j to i, and self_scale * x_i
///     out_i = weight h_i + root x_i + bias
///
/// x f32 or f64 [N, F], `order` of N sources and N targets (ops/attention.h), weight and root [O, F], bias
/// [O], target_scale [N], self_scale [1], all of x's dtype; all but weight may be undefined, and root goes
/// without self_scale. The result is [N, O]. h is never whole in memory, and nothing but the inputs is kept
/// for backward: with g = A^T dout its gradients are g W + dout root, g^T x, dout^T x and the sum of dout's
/// rows. Differentiable once, not by scales. The same bits for any number of threads.
/// torch.ops.plimsoll.aggregate_linear is the same. Errors: UsageError for shapes and dtypes; InputError for
/// an order of other counts.
at::Tensor aggregate_linear(const at::Tensor& x, const at::Tensor& order, const at::Tensor& weight,
                            const at::Tensor& root, const at::Tensor& bias, const at::Tensor& target_scale,
                            const at::Tensor& self_scale);

}  // namespace plimsoll

#pragma once

#include <ATen/core/Tensor.h>

namespace plimsoll {

/// out = relu(x) weight^T + bias. x f32 or f64 [N, F], weight [O, F], bias [O] or undefined, of x's dtype.
/// What relu makes is never whole in memory, and nothing but the inputs is kept for backward. Differentiable
/// once. The same bits for any number of threads. torch.ops.plimsoll.relu_linear is the same. Errors:
/// UsageError for shapes and dtypes.
at::Tensor relu_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace plimsoll

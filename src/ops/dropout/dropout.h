#pragma once

#include <ATen/core/Tensor.h>

namespace plimsoll {

/// Inverted dropout of x, f32 of any shape: each number becomes 0 with probability p, otherwise x / (1 - p).
///
/// Which numbers are dropped depends only on `seed`, i64 [3] on the CPU (seed, layer below 2^16, epoch below
/// 2^32), and on their position in x (kernels/dropout/dropout.h), not on the number of threads. No mask is
/// kept for backward. Differentiable any number of times. torch.ops.plimsoll.dropout is the same function.
/// Errors: UsageError for another shape, dtype or p.
at::Tensor dropout(const at::Tensor& x, double p, const at::Tensor& seed);

}  // namespace plimsoll

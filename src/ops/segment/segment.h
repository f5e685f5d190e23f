#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/segment/segment.h"

namespace plimsoll {

/// Reductions over segments of the rows of x, f32 or f64 [N, F] (kernels/segment/segment.h). ptr, i64 [G +
/// 1], has the bounds of the segments. Differentiable once. torch.ops.plimsoll has these functions, and
/// gather_csr, under the same names. Errors: UsageError for shapes, dtypes or, on the CPU, a ptr that does
/// not rise from 0 to N; on a device, the content of ptr is not checked. Thread-safe; the bits are the same
/// for any number of threads.

/// Returns the same as torch_scatter's segment_csr, [G, F].
at::Tensor segment_reduce(const at::Tensor& x, const at::Tensor& ptr, Reduce reduce);
/// Returns the softmax over the rows of each segment, [N, F].
at::Tensor segment_softmax(const at::Tensor& x, const at::Tensor& ptr);
/// Returns GraphNorm, [N, F]. weight, bias and mean_scale are [F].
at::Tensor graph_norm(const at::Tensor& x, const at::Tensor& ptr, const at::Tensor& weight,
                      const at::Tensor& bias, const at::Tensor& mean_scale, double eps);

}  // namespace plimsoll

#pragma once

#include <ATen/core/Tensor.h>

namespace plimsoll {

/// Returns the rows of `weight` [R, F] with the indices `ids` i64 [N], like at::embedding(): f32 or f64 [N,
/// F]. On a CUDA device, the gradient is summed by Plimsoll's kernels, in the order of `ids`, because torch's
/// sort allocates memory that depends on the values of the ids and so cannot be planned exactly. Thread-safe.
/// Ids must be below R (nn/node_ids.h checks them on the host). For an invalid id, torch throws an error on
/// the CPU, and the behaviour on a device is undefined. There are no second derivatives. A device supports
/// only f32 and f64.
at::Tensor embedding_rows(const at::Tensor& weight, const at::Tensor& ids);

/// Returns the gradient of `weight` on a device from grad [N, F]. Its workspace is
/// embedding_backward_device_workspace().
at::Tensor embedding_backward_on_device(const at::Tensor& grad, const at::Tensor& ids, int64_t rows);

}  // namespace plimsoll

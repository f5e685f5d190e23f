#pragma once

#include <ATen/core/Tensor.h>

namespace plimsoll {

/// The rows of `weight` [R, F] that `ids` i64 [N] name, as at::embedding() gives them: f32 or f64 [N, F]. On
/// a CUDA device the gradient is summed by our own kernels, node by node in the order of `ids`: torch's sort
/// takes memory that depends on what the ids are, so that no plan of it is exact. Thread-safe. Ids must be
/// those of rows (nn/node_ids.h checks them on the host): an error of torch on the CPU, and undefined on a
/// device. No second derivatives; on a device f32 and f64 alone.
at::Tensor embedding_rows(const at::Tensor& weight, const at::Tensor& ids);

/// The gradient of `weight` on a device: grad [N, F]; its workspace is embedding_backward_device_workspace().
at::Tensor embedding_backward_on_device(const at::Tensor& grad, const at::Tensor& ids, int64_t rows);

}  // namespace plimsoll

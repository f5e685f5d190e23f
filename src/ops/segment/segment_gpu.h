#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>
#include <tuple>

namespace plimsoll {

// The operators of segment.h and their gradients for tensors on a CUDA device
// (kernels/segment/segment_gpu.h). Work is put on the device's current stream. The functions do not wait for
// it, so the content of ptr is not checked. Errors: UsageError for shapes, dtypes and devices, Failure in a
// build without CUDA kernels.

at::Tensor segment_reduce_on_device(const at::Tensor& x, const at::Tensor& ptr, std::string_view reduce);
at::Tensor segment_reduce_backward_on_device(const at::Tensor& grad, const at::Tensor& x,
                                             const at::Tensor& out, const at::Tensor& ptr,
                                             std::string_view reduce);
at::Tensor segment_softmax_on_device(const at::Tensor& x, const at::Tensor& ptr);
at::Tensor segment_softmax_backward_on_device(const at::Tensor& grad, const at::Tensor& out,
                                              const at::Tensor& ptr);
/// Returns out, and mean and r for backward.
std::tuple<at::Tensor, at::Tensor, at::Tensor> graph_norm_on_device(const at::Tensor& x,
                                                                    const at::Tensor& ptr,
                                                                    const at::Tensor& weight,
                                                                    const at::Tensor& bias,
                                                                    const at::Tensor& mean_scale, double eps);
/// Returns the gradients of x, weight, bias and mean_scale.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> graph_norm_backward_on_device(
    const at::Tensor& grad, const at::Tensor& x, const at::Tensor& ptr, const at::Tensor& weight,
    const at::Tensor& mean_scale, const at::Tensor& mean, const at::Tensor& r);
at::Tensor gather_csr_on_device(const at::Tensor& x, const at::Tensor& ptr, int64_t rows);

}  // namespace plimsoll

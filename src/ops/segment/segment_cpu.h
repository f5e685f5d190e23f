#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>
#include <tuple>

namespace plimsoll {

/// Number of segments in a group, which one thread computes at a time. Each group has separate sums of weight
/// gradients.
inline constexpr int64_t kSegmentGrain = 64;

/// The operators of segment.h on the CPU and their gradients, without autograd.

at::Tensor segment_reduce_cpu(const at::Tensor& x, const at::Tensor& ptr, std::string_view reduce);
at::Tensor segment_reduce_backward_cpu(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& out,
                                       const at::Tensor& ptr, std::string_view reduce);

at::Tensor segment_softmax_cpu(const at::Tensor& x, const at::Tensor& ptr);
at::Tensor segment_softmax_backward_cpu(const at::Tensor& grad, const at::Tensor& out, const at::Tensor& ptr);

/// Returns (out, mean, scale); backward returns the gradients of x, weight, bias and mean_scale.
std::tuple<at::Tensor, at::Tensor, at::Tensor> graph_norm_cpu(const at::Tensor& x, const at::Tensor& ptr,
                                                              const at::Tensor& weight,
                                                              const at::Tensor& bias,
                                                              const at::Tensor& mean_scale, double eps);
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> graph_norm_backward_cpu(
    const at::Tensor& grad, const at::Tensor& x, const at::Tensor& ptr, const at::Tensor& weight,
    const at::Tensor& mean_scale, const at::Tensor& mean, const at::Tensor& scale);

/// Returns [rows, F] in which each row of segment g is row g of x [G, F]. `rows` is the last entry of ptr.
/// The gradient is a sum, so the operator is differentiable twice.
at::Tensor gather_csr_cpu(const at::Tensor& x, const at::Tensor& ptr, int64_t rows);

}  // namespace plimsoll

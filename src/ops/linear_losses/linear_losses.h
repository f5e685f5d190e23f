#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

namespace plimsoll {

/// Losses of a linear layer with many classes. The logits x W^T + b [N, C] are never in memory as a whole,
/// neither in forward nor in backward: they are computed kLogitRows rows at a time, or kDeviceLogitRows on a
/// CUDA device. x is f32 or f64 [N, D], weight [C, D], bias [C], all of the same dtype; the result is [N].
/// Differentiable once, by x, weight and bias. torch.ops.plimsoll has the losses under the same names.
///
/// If gradients are needed, forward also computes the gradients of the sum of all losses, tile by tile.
/// Backward scales these if all losses have the same gradient, as for a mean; otherwise it recomputes the
/// logits.
///
/// Errors: UsageError for shapes and dtypes and, on the CPU, for classes that are not below C or a ptr that
/// does not rise from 0. On a device, the loss of a row with such a class is NaN, and the content of ptr is
/// not checked. Thread-safe. A call on the CPU uses one thread, so its result does not depend on the number
/// of threads.

/// Returns torch's cross_entropy of each row; target is i64 [N].
at::Tensor linear_cross_entropy(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                const at::Tensor& target);
/// Returns, for each row n, the mean of torch's binary_cross_entropy_with_logits over all C classes. The
/// label is 1 for the classes classes[ptr[n]] .. classes[ptr[n+1]-1], which must be distinct, and 0 for all
/// other classes. ptr is i64 [N + 1], classes is i64 [M]; the entries of `classes` from ptr[N] on are not
/// read.
at::Tensor linear_multilabel_bce(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                 const at::Tensor& ptr, const at::Tensor& classes);

/// Maximum number of rows of logits that are in memory at once.
inline constexpr int64_t kLogitRows = 64;
/// The same maximum on a device, where it is larger because each operation has a fixed cost.
inline constexpr int64_t kDeviceLogitRows = 2048;

/// The operators without autograd, and functions that compute the gradients of x, weight and bias from the
/// gradients of the losses.
at::Tensor linear_cross_entropy_cpu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                    const at::Tensor& target);
std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_cross_entropy_backward_cpu(const at::Tensor& grad,
                                                                                 const at::Tensor& x,
                                                                                 const at::Tensor& weight,
                                                                                 const at::Tensor& bias,
                                                                                 const at::Tensor& target);
at::Tensor linear_multilabel_bce_cpu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                     const at::Tensor& ptr, const at::Tensor& classes);
std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_multilabel_bce_backward_cpu(
    const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
    const at::Tensor& ptr, const at::Tensor& classes);

/// The losses, and the gradients of their sum with respect to x, weight and bias.
using LossesAndGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
LossesAndGradients linear_cross_entropy_both_cpu(const at::Tensor& x, const at::Tensor& weight,
                                                 const at::Tensor& bias, const at::Tensor& target);
LossesAndGradients linear_multilabel_bce_both_cpu(const at::Tensor& x, const at::Tensor& weight,
                                                  const at::Tensor& bias, const at::Tensor& ptr,
                                                  const at::Tensor& classes);

/// The operators on a CUDA device (linear_losses_gpu.cc).
at::Tensor linear_cross_entropy_on_device(const at::Tensor& x, const at::Tensor& weight,
                                          const at::Tensor& bias, const at::Tensor& target);
at::Tensor linear_multilabel_bce_on_device(const at::Tensor& x, const at::Tensor& weight,
                                           const at::Tensor& bias, const at::Tensor& ptr,
                                           const at::Tensor& classes);
LossesAndGradients linear_cross_entropy_both_on_device(const at::Tensor& x, const at::Tensor& weight,
                                                       const at::Tensor& bias, const at::Tensor& target);
LossesAndGradients linear_multilabel_bce_both_on_device(const at::Tensor& x, const at::Tensor& weight,
                                                        const at::Tensor& bias, const at::Tensor& ptr,
                                                        const at::Tensor& classes);
std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_cross_entropy_backward_on_device(
    const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
    const at::Tensor& target);
std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_multilabel_bce_backward_on_device(
    const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
    const at::Tensor& ptr, const at::Tensor& classes);

}  // namespace plimsoll

#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

namespace plimsoll {

/// Losses of a linear layer with many classes whose logits x W^T + b [N, C] are never there as a whole,
/// neither in forward nor in backward: they are computed a tile of kLogitRows rows at a time. x f32 or f64
/// [N, D], weight [C, D], bias [C] of its dtype; the result is [N]. Differentiable once, by x, weight and
/// bias. torch.ops.plimsoll has them under the same names. On a CUDA device tiles
/// have more rows.
///
/// Where gradients are wanted, forward makes those of the sum of all losses on its way, tile by tile.
/// Backward scales them where all losses have one gradient, as those of a mean have; else it computes the
/// logits again.
///
/// Errors: UsageError for shapes and dtypes and, on the CPU, for classes that are not below C or a ptr that
/// does not rise from 0; on a device such a class makes its row's loss no number. Thread-safe; the same bits
/// for any number of threads: a call takes one.

/// torch's cross_entropy of each row, target i64 [N].
at::Tensor linear_cross_entropy(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                const at::Tensor& target);
/// Of each row the mean over all C of torch's binary_cross_entropy_with_logits against 1 for the classes
/// classes[ptr[n]] .. classes[ptr[n+1]-1], of which none comes twice, and 0 for the others. ptr i64 [N + 1],
/// classes i64 [M]; what stands after ptr[N] is not read.
at::Tensor linear_multilabel_bce(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                 const at::Tensor& ptr, const at::Tensor& classes);

/// Rows of logits that are there at once.
inline constexpr int64_t kLogitRows = 64;
inline constexpr int64_t kDeviceLogitRows = 2048;  ///< there each operation has a price of its own

/// The same without autograd, and gradients by x, weight and bias from those of the losses.
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

/// The losses, and the gradients of their sum by x, weight and bias.
using LossesAndGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
LossesAndGradients linear_cross_entropy_both_cpu(const at::Tensor& x, const at::Tensor& weight,
                                                 const at::Tensor& bias, const at::Tensor& target);
LossesAndGradients linear_multilabel_bce_both_cpu(const at::Tensor& x, const at::Tensor& weight,
                                                  const at::Tensor& bias, const at::Tensor& ptr,
                                                  const at::Tensor& classes);

/// The same on a CUDA device (linear_losses_device.cc).
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

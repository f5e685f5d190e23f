#pragma once

#include <ATen/core/Tensor.h>

namespace plimsoll {

/// Returns the loss of each row, f32 [G] (Hinton et al., "Distilling the Knowledge in a Neural Network",
/// 2015):
///
/// alpha T^2 KL(softmax(teacher / T) || softmax(logits / T)) + (1 - alpha) cross-entropy(logits, y)
///
/// logits and teacher are f32 [G, classes], y is i64 [G], all contiguous; `temperature` T must be above 0.
/// Differentiable once, by logits; forward computes the gradient. This is one operation where torch needs
/// about twenty-five, which matters for small models. Errors: UsageError for another shape or dtype,
/// InputError for a label that is not a class; on a device, labels must be valid. Thread-safe; uses one
/// thread.
at::Tensor soft_target_losses(const at::Tensor& logits, const at::Tensor& teacher, const at::Tensor& y,
                              double temperature, double alpha);

}  // namespace plimsoll

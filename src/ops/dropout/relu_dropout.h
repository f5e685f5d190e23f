#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll {

/// Computes relu(x) times the factors of kernels/dropout/dropout.h in one pass: f32 [rows, channels]. item
/// and local are i64 [rows]. p must be in [0, 1). Under torch.autocast, x is cast to f32. Differentiable
/// once, by x; only the result is kept for backward. Errors: UsageError for another shape or dtype.
/// Thread-safe; uses one thread.
at::Tensor relu_dropout(const at::Tensor& x, double p, uint64_t seed, uint32_t layer, uint32_t epoch,
                        const at::Tensor& item, const at::Tensor& local);

}  // namespace plimsoll

#pragma once

#include <ATen/core/Tensor.h>

namespace plimsoll {

// The checks throw a UsageError with what was expected and what was found.

void require(bool ok, const char* expected, const at::Tensor& found);

/// Throws UsageError if x is on a device. For operators without a CUDA kernel.
void require_on_host(const at::Tensor& x, const char* what);

/// Require a contiguous tensor on x's device with this shape and, depending on the function, x's dtype, the
/// dtype of sums over x, or either.
void require_like(const at::Tensor& x, const at::Tensor& tensor, at::IntArrayRef shape, const char* expected);
void require_sums(const at::Tensor& x, const at::Tensor& tensor, at::IntArrayRef shape, const char* expected);
void require_either(const at::Tensor& x, const at::Tensor& tensor, at::IntArrayRef shape,
                    const char* expected);

}  // namespace plimsoll

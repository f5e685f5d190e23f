#pragma once

#include <ATen/core/Tensor.h>

namespace plimsoll {

/// Throws UsageError, with what was expected and the dtype and shape of `found`, if `ok` is false. `found`
/// may be undefined.
void require(bool ok, const char* expected, const at::Tensor& found);

/// Throws UsageError if x is on a device. For operators without a CUDA kernel.
void require_on_host(const at::Tensor& x, const char* what);

/// Throw UsageError unless `tensor` is contiguous, on x's device, and has this shape and, for require_like(),
/// x's dtype, for require_sums(), the dtype of sums over x (ops/numbers.h), or for require_either(), one of
/// the two.
void require_like(const at::Tensor& x, const at::Tensor& tensor, at::IntArrayRef shape, const char* expected);
void require_sums(const at::Tensor& x, const at::Tensor& tensor, at::IntArrayRef shape, const char* expected);
void require_either(const at::Tensor& x, const at::Tensor& tensor, at::IntArrayRef shape,
                    const char* expected);

}  // namespace plimsoll

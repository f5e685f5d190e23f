#include "ops/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "ops/numbers.h"

namespace plimsoll {
namespace {

void require_shape(const at::Tensor& x, bool right_dtype, const at::Tensor& tensor, at::IntArrayRef shape,
                   const char* expected) {
  require(right_dtype && tensor.sizes() == shape && tensor.is_contiguous() && tensor.device() == x.device(),
          expected, tensor);
}

bool has(const at::Tensor& tensor, at::ScalarType dtype) {
  return tensor.defined() && tensor.scalar_type() == dtype;
}

}  // namespace

void require(bool ok, const char* expected, const at::Tensor& found) {
  if (ok) return;
  if (!found.defined()) throw UsageError(fmt::format("expected {}, found none", expected));
  throw UsageError(fmt::format("expected {}, found {} of shape [{}]{}", expected,
                               c10::toString(found.scalar_type()), fmt::join(found.sizes(), ", "),
                               found.is_contiguous() ? "" : ", not contiguous"));
}

void require_on_host(const at::Tensor& x, const char* what) {
  if (!x.is_cpu() && !x.is_meta())
    throw UsageError(fmt::format("{}: there is no CUDA kernel; train with --device cpu", what));
}

void require_like(const at::Tensor& x, const at::Tensor& tensor, at::IntArrayRef shape,
                  const char* expected) {
  require_shape(x, has(tensor, x.scalar_type()), tensor, shape, expected);
}

void require_sums(const at::Tensor& x, const at::Tensor& tensor, at::IntArrayRef shape,
                  const char* expected) {
  require_shape(x, has(tensor, sum_type(x.scalar_type())), tensor, shape, expected);
}

void require_either(const at::Tensor& x, const at::Tensor& tensor, at::IntArrayRef shape,
                    const char* expected) {
  require_shape(x, has(tensor, x.scalar_type()) || has(tensor, sum_type(x.scalar_type())), tensor, shape,
                expected);
}

}  // namespace plimsoll

#pragma once

#include <ATen/core/Tensor.h>

#include <type_traits>

#include "base/error.h"
#include "kernels/bfloat16.h"

namespace plimsoll {

/// The types in which kernels compute (T) and store large arrays (S).
template <typename T, typename S = T>
struct Numbers {
  using Sum = T;
  using Stored = S;
};

/// Calls work(Numbers<...>()) for tensors stored as `dtype`: f32, f64 or bf16. Errors: UsageError for any
/// other dtype.
template <typename Work>
void with_numbers(at::ScalarType dtype, const Work& work) {
  switch (dtype) {
    case at::kFloat:
      return work(Numbers<float>());
    case at::kDouble:
      return work(Numbers<double>());
    case at::kBFloat16:
      return work(Numbers<float, BFloat16>());
    default:
      throw UsageError(std::string("found no kernels for dtype ") + c10::toString(dtype));
  }
}

/// Return the dtype of sums over numbers stored as `dtype`, and the options of a tensor of sums over x.
inline at::ScalarType sum_type(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? at::kFloat : dtype;
}
inline at::TensorOptions sums_like(const at::Tensor& x) {
  return x.options().dtype(sum_type(x.scalar_type()));
}

/// Returns the data of a tensor of this type; null if it is undefined or empty. write() does the same for
/// memory that is written to.
template <typename T>
const T* read(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0) return nullptr;
  if constexpr (std::is_same_v<T, BFloat16>)
    return reinterpret_cast<const BFloat16*>(tensor.const_data_ptr<at::BFloat16>());
  else
    return tensor.const_data_ptr<T>();
}
template <typename T>
T* write(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0) return nullptr;
  if constexpr (std::is_same_v<T, BFloat16>)
    return reinterpret_cast<BFloat16*>(tensor.mutable_data_ptr<at::BFloat16>());
  else
    return tensor.mutable_data_ptr<T>();
}

}  // namespace plimsoll

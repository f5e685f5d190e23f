#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "store/safetensors.h"

namespace plimsoll {

/// A tensor that owns its bytes.
struct OwnedTensor {
  std::string dtype;  ///< A name of the safetensors format, such as "F32".
  std::vector<int64_t> shape;
  Vector<std::byte, Tag::columns> data;  ///< Row-major, little-endian.

  TensorSpan span() const { return {dtype, shape, data}; }
};

/// Tensors that a model file has in addition to its parameters, by name. They do not change once they are
/// made, so any number of threads may read them.
using NamedTensors = std::map<std::string, OwnedTensor>;

/// Returns a copy of `values`, whose number must be that of `shape`. T may be float, double or int64_t.
/// Errors: BudgetExceeded.
template <typename T>
OwnedTensor own_tensor(std::span<const T> values, std::vector<int64_t> shape);

/// Returns the values of a tensor that must have this shape, in which -1 stands for any size, and the dtype
/// of T: float, double or int64_t. The span is valid as long as the tensor. Errors: InputError with the
/// tensor's name, what was found and what was expected.
template <typename T>
std::span<const T> values_of(const NamedTensors& tensors, const std::string& name,
                             const std::vector<int64_t>& shape);

/// Copies the tensors of a file whose names begin with `prefix` but not with `without`. The default of
/// `without` leaves out none. Errors: BudgetExceeded.
NamedTensors own_tensors(const SafetensorsView& file, const std::string& prefix,
                         const std::string& without = " ");

}  // namespace plimsoll

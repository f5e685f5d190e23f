#include "store/named_tensors.h"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "base/json.h"

namespace plimsoll {
namespace {

template <typename T>
const char* dtype_of() {
  if constexpr (std::is_same_v<T, float>) return "F32";
  if constexpr (std::is_same_v<T, double>) return "F64";
  if constexpr (std::is_same_v<T, int64_t>) return "I64";
}

bool fits(const std::vector<int64_t>& shape, const std::vector<int64_t>& expected) {
  if (shape.size() != expected.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d)
    if (expected[d] >= 0 && shape[d] != expected[d]) return false;
  return true;
}

OwnedTensor copy_of(const TensorSpan& tensor) {
  OwnedTensor copy{tensor.dtype, tensor.shape, {}};
  copy.data.resize(tensor.data.size());
  std::copy(tensor.data.begin(), tensor.data.end(), copy.data.begin());
  return copy;
}

}  // namespace

template <typename T>
OwnedTensor own_tensor(std::span<const T> values, std::vector<int64_t> shape) {
  return copy_of({dtype_of<T>(), std::move(shape), std::as_bytes(values)});
}

template <typename T>
std::span<const T> values_of(const NamedTensors& tensors, const std::string& name,
                             const std::vector<int64_t>& shape) {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    throw InputError(fmt::format("the model has no tensor '{}'; train it again", name));
  const OwnedTensor& tensor = found->second;
  if (tensor.dtype != dtype_of<T>() || !fits(tensor.shape, shape))
    throw InputError(fmt::format("the model's tensor '{}' is {} {}, expected {} {} (-1: any); train it again",
                                 name, tensor.dtype, Json(tensor.shape).dump(), dtype_of<T>(),
                                 Json(shape).dump()));
  return {reinterpret_cast<const T*>(tensor.data.data()), tensor.data.size() / sizeof(T)};
}

NamedTensors own_tensors(const SafetensorsView& file, const std::string& prefix, const std::string& without) {
  NamedTensors tensors;
  for (const auto& [name, tensor] : file.tensors())
    if (name.starts_with(prefix) && !name.starts_with(without)) tensors[name] = copy_of(tensor);
  return tensors;
}

template OwnedTensor own_tensor(std::span<const float>, std::vector<int64_t>);
template OwnedTensor own_tensor(std::span<const double>, std::vector<int64_t>);
template OwnedTensor own_tensor(std::span<const int64_t>, std::vector<int64_t>);
template std::span<const float> values_of(const NamedTensors&, const std::string&,
                                          const std::vector<int64_t>&);
template std::span<const double> values_of(const NamedTensors&, const std::string&,
                                           const std::vector<int64_t>&);
template std::span<const int64_t> values_of(const NamedTensors&, const std::string&,
                                            const std::vector<int64_t>&);

}  // namespace plimsoll

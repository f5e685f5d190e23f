#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <map>
#include <string>

#include "base/error.h"
#include "bindings.h"
#include "store/safetensors.h"

namespace plimsoll {
namespace {

using Array = nb::ndarray<nb::numpy, nb::ro, nb::c_contig, nb::device::cpu>;

struct Dtype {
  const char* name;
  nb::dlpack::dtype dtype;
};

const Dtype kDtypes[] = {
    {"F32", nb::dtype<float>()}, {"F64", nb::dtype<double>()}, {"I64", nb::dtype<int64_t>()}};

TensorSpan span_of(const std::string& name, const Array& array) {
  for (const Dtype& known : kDtypes)
    if (array.dtype() == known.dtype) {
      std::vector<int64_t> shape;
      for (size_t axis = 0; axis < array.ndim(); ++axis)
        shape.push_back(static_cast<int64_t>(array.shape(axis)));
      return {known.name, shape, std::span(static_cast<const std::byte*>(array.data()), array.nbytes())};
    }
  throw UsageError("tensor '" + name + "': expected f32, f64 or i64");
}

// A copy of a tensor, owned by the array.
nb::object copy_of(const std::string& path, const std::string& name, const TensorSpan& tensor) {
  for (const Dtype& known : kDtypes)
    if (tensor.dtype == known.name) {
      auto* const data = new std::byte[tensor.data.size() + 1];
      std::memcpy(data, tensor.data.data(), tensor.data.size());
      const nb::capsule owner(data, [](void* held) noexcept { delete[] static_cast<std::byte*>(held); });
      const std::vector<size_t> shape(tensor.shape.begin(), tensor.shape.end());
      return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, known.dtype));
    }
  throw InputError(path + ": tensor '" + name + "' is " + tensor.dtype + ", expected F32, F64 or I64");
}

void write_model(const std::filesystem::path& path, const std::map<std::string, Array>& arrays,
                 const TensorMetadata& metadata) {
  std::map<std::string, TensorSpan> tensors;
  for (const auto& [name, array] : arrays) tensors.emplace(name, span_of(name, array));
  const nb::gil_scoped_release released;
  write_safetensors(path, tensors, metadata);
}

nb::tuple read_model(const std::filesystem::path& path) {
  const SafetensorsView file(path);
  nb::dict tensors;
  for (const auto& [name, tensor] : file.tensors())
    tensors[name.c_str()] = copy_of(file.path(), name, tensor);
  return nb::make_tuple(tensors, file.metadata());
}

}  // namespace

void bind_model_files(nb::module_& module) {
  module.def("write_model", write_model, nb::arg("path"), nb::arg("tensors"), nb::arg("metadata"));
  module.def("read_model", read_model, nb::arg("path"));
}

}  // namespace plimsoll

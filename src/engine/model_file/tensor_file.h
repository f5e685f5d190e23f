#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "nn/parameters.h"
#include "store/message_ids.h"
#include "store/safetensors.h"

namespace plimsoll {

// What the files of models share.

/// Parameters and buffers by name: views of their memory.
std::map<std::string, TensorSpan> tensors_of(const ParameterList& parameters);
/// The model of a file: what `make` makes, with the parameters and buffers of the file. Whatever sizes the
/// file claims, no memory is taken for a parameter before all of them are known to be in the file. Errors:
/// InputError that names the tensor that is missing or of another shape, or tells what `make` refuses.
template <typename Make>
auto read_model(const SafetensorsView& file, const Make& make);
/// The same with views of the file as parameters and buffers: the file must outlive the model, which cannot
/// be trained.
template <typename Make>
auto map_model(const SafetensorsView& file, const Make& make);
/// Overwrites parameters and buffers. Errors: InputError for one that is missing or of another shape.
void read_tensors(const SafetensorsView& file, const std::string& path, const ParameterList& parameters);
/// A view of a tensor in the file, which must outlive it and cannot be written to. Errors: likewise.
at::Tensor mapped_tensor(const SafetensorsView& file, const std::string& path, const std::string& name,
                         const std::vector<int64_t>& shape);

template <typename Make>
auto map_model(const SafetensorsView& file, const Make& make) {
  try {
    const GivenValues views([&](const std::string& name, const std::vector<int64_t>& shape) {
      return mapped_tensor(file, file.path(), name, shape);
    });
    return make();
  } catch (const UsageError& error) {
    throw InputError(file.path() + ": metadata 'plimsoll.config': " + error.what());
  }
}

template <typename Make>
auto read_model(const SafetensorsView& file, const Make& make) {
  map_model(file, make);
  auto model = make();
  read_tensors(file, file.path(), model->parameters());
  return model;
}

/// Messages as I64, and the names of their channels in the metadata (store/message_ids.h); absent means none.
MessageIds read_ids(const SafetensorsView& file, const std::string& name);

}  // namespace plimsoll

#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "nn/parameters.h"
#include "store/message_ids.h"
#include "store/safetensors.h"
#include "store/tensor_stream.h"

namespace plimsoll {

// Functions that the files of all models share.

/// Views of parameters and buffers, by name. Errors: Failure if one of them is on a disk.
std::map<std::string, TensorSpan> tensors_of(const ParameterList& parameters);
/// Streams of parameters and buffers, by name. The list, and any StoredRows in it, must outlive them.
std::map<std::string, TensorStream> streams_of(const ParameterList& parameters);
/// Reads the model of a file: the result of `make`, with the parameters and buffers of the file. Whatever
/// sizes the file claims, no memory is allocated for a parameter before all of them are known to be in the
/// file. Errors: InputError that names the tensor that is missing or of another shape, or repeats an error of
/// `make`.
template <typename Make>
auto read_model(const SafetensorsView& file, const Make& make);
/// Does the same, except that parameter `mapped` is a view of the file. The file must outlive the model, and
/// the model cannot be trained. Errors: the same.
template <typename Make>
auto read_model(const SafetensorsView& file, const std::string& mapped, const Make& make);
/// Makes the model with parameters and buffers that are views of the file. The file must outlive the model,
/// and the model cannot be trained. Errors: those of read_model().
template <typename Make>
auto map_model(const SafetensorsView& file, const Make& make);
/// Overwrites parameters and buffers. `path` is the file's name in errors, here and below. Errors: InputError
/// if one is missing from the file or has another shape there; the ones before it are then overwritten.
void read_tensors(const SafetensorsView& file, const std::string& path, const ParameterList& parameters);
/// Returns a view of a tensor in the file. The file must outlive the view, which must not be written to.
/// Errors: those of read_tensors().
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

/// Returns a copy of a tensor in the file (Tag::parameters). Errors: those of mapped_tensor().
at::Tensor copied_tensor(const SafetensorsView& file, const std::string& name,
                         const std::vector<int64_t>& shape);

template <typename Make>
auto read_model(const SafetensorsView& file, const std::string& mapped, const Make& make) {
  map_model(file, make);
  const GivenValues values([&](const std::string& name, const std::vector<int64_t>& shape) {
    return name == mapped ? mapped_tensor(file, file.path(), name, shape) : copied_tensor(file, name, shape);
  });
  return make();
}

/// Reads messages stored as I64, and the names of their channels from the metadata (store/message_ids.h). If
/// the tensor is absent, there are none.
MessageIds read_ids(const SafetensorsView& file, const std::string& name);

}  // namespace plimsoll

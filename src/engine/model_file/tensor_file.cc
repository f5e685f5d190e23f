#include "engine/model_file/tensor_file.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "ops/allocator.h"

namespace plimsoll {

std::map<std::string, TensorSpan> tensors_of(const ParameterList& parameters) {
  std::map<std::string, TensorSpan> tensors;
  for (const auto& [name, value, lazy, stored] : parameters.all()) {
    if (stored != nullptr) throw Failure("a parameter on a disk was asked for as one in memory");
    tensors[name] = {
        "F32", value.sizes().vec(),
        std::as_bytes(std::span(value.const_data_ptr<float>(), static_cast<size_t>(value.numel())))};
  }
  return tensors;
}

std::map<std::string, TensorStream> streams_of(const ParameterList& parameters) {
  std::map<std::string, TensorStream> streams;
  for (const ParameterList::Entry& entry : parameters.all())
    streams[entry.name] = {
        "F32", entry.shape(), [entry](const TakeBytes& take) {
          entry.read([&](std::span<const float> numbers) { take(std::as_bytes(numbers)); });
        }};
  return streams;
}

namespace {

const TensorSpan& tensor_of(const SafetensorsView& file, const std::string& path, const std::string& name,
                            const std::vector<int64_t>& shape) {
  const TensorSpan& tensor = file.tensor(name);
  if (tensor.dtype != "F32" || tensor.shape != shape)
    throw InputError(fmt::format("{}: tensor '{}' is {} {}, expected F32 {}", path, name, tensor.dtype,
                                 Json(tensor.shape).dump(), Json(shape).dump()));
  return tensor;
}

}  // namespace

void read_tensors(const SafetensorsView& file, const std::string& path, const ParameterList& parameters) {
  for (const ParameterList::Entry& entry : parameters.all()) {
    const std::vector<int64_t> shape = entry.value.sizes().vec();
    const TensorSpan& tensor = tensor_of(file, path, entry.name, shape);
    std::memcpy(entry.value.data_ptr<float>(), tensor.data.data(), tensor.data.size());
  }
}

at::Tensor mapped_tensor(const SafetensorsView& file, const std::string& path, const std::string& name,
                         const std::vector<int64_t>& shape) {
  const TensorSpan& tensor = tensor_of(file, path, name, shape);
  // from_blob() accepts no const pointer; nothing writes to the tensor.
  return at::from_blob(const_cast<std::byte*>(tensor.data.data()), shape, at::kFloat);
}

at::Tensor copied_tensor(const SafetensorsView& file, const std::string& name,
                         const std::vector<int64_t>& shape) {
  const TagScope scope(Tag::parameters);
  return mapped_tensor(file, file.path(), name, shape).clone();
}

MessageIds read_ids(const SafetensorsView& file, const std::string& name) {
  const auto found = file.tensors().find(name);
  if (found == file.tensors().end() || found->second.dtype != "I64") return {};
  MessageKeys keys(found->second.data.size() / sizeof(MessageKey));
  if (!keys.empty()) std::memcpy(keys.data(), found->second.data.data(), found->second.data.size());
  return {std::move(keys), channel_names(file)};
}

}  // namespace plimsoll

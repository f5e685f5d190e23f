#include "store/safetensors.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"
#include "base/json.h"

namespace plimsoll {
namespace {

constexpr uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit

int64_t dtype_bytes(const std::string& dtype) {
  if (dtype == "F64" || dtype == "I64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16") return 2;
  if (dtype == "U8" || dtype == "I8" || dtype == "BOOL") return 1;
  return 0;
}

TensorSpan parse_tensor(const Json& entry, std::span<const std::byte> data, const std::string& where) {
  TensorSpan tensor;
  std::array<uint64_t, 2> offsets{};
  try {
    tensor.dtype = entry.at("dtype");
    tensor.shape = entry.at("shape").get<std::vector<int64_t>>();
    offsets = entry.at("data_offsets").get<std::array<uint64_t, 2>>();
  } catch (const Json::exception& error) {
    throw InputError(where + ": " + error.what());
  }
  int64_t bytes = dtype_bytes(tensor.dtype);
  if (bytes == 0) throw InputError(fmt::format("{}: dtype '{}' is not supported", where, tensor.dtype));
  for (const int64_t size : tensor.shape)
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes))
      throw InputError(where + ": impossible shape");
  if (offsets[0] > offsets[1] || offsets[1] > data.size() ||
      offsets[1] - offsets[0] != static_cast<uint64_t>(bytes))
    throw InputError(fmt::format("{}: bytes {} to {} of {} do not hold its {} bytes", where, offsets[0],
                                 offsets[1], data.size(), bytes));
  tensor.data = data.subspan(offsets[0], offsets[1] - offsets[0]);
  return tensor;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, TensorSpan>& tensors,
                       const TensorMetadata& metadata, FileSystem& files) {
  Json header = Json::object();
  header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  std::string text = header.dump();
  constexpr size_t kAlignment = 64;
  text.resize((text.size() + 8 + kAlignment - 1) / kAlignment * kAlignment - 8, ' ');

  const auto fill = [&](File& file) {
    const uint64_t length = text.size();
    file.write(&length, sizeof(length));
    file.write(text.data(), text.size());
    for (const auto& [name, tensor] : tensors) file.write(tensor.data.data(), tensor.data.size());
  };
  replace_file(path, fill, files);
}

SafetensorsView::SafetensorsView(const std::filesystem::path& path) : file_(path) {
  const std::span<const std::byte> bytes = file_.bytes();
  const auto bad = [&](const std::string& what) {
    return InputError(path.string() + ": not a usable safetensors file: " + what);
  };
  uint64_t length = 0;
  if (bytes.size() < sizeof(length)) throw bad("it is shorter than its first 8 bytes");
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kMostHeaderBytes || length > bytes.size() - sizeof(length))
    throw bad("its header does not fit in it");
  const char* const text = reinterpret_cast<const char*>(bytes.data()) + sizeof(length);
  const Json header = parse_json({text, length});
  if (!header.is_object()) throw bad("its header is not a JSON object");
  const std::span<const std::byte> data = bytes.subspan(sizeof(length) + length);
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      tensors_[name] = parse_tensor(entry, data, fmt::format("{}: tensor '{}'", path.string(), name));
      continue;
    }
    if (!entry.is_object()) throw bad("__metadata__ is not an object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) throw bad(fmt::format("metadata '{}' is not a text", key));
      metadata_[key] = value;
    }
  }
}

const TensorSpan& SafetensorsView::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw InputError(fmt::format("{}: has no tensor '{}'", file_.path(), name));
  return found->second;
}

const std::string& SafetensorsView::meta(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) throw InputError(fmt::format("{}: has no metadata '{}'", file_.path(), key));
  return found->second;
}

}  // namespace plimsoll

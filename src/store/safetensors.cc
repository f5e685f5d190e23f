#include "store/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/shown.h"
#include "store/tensor_stream.h"

namespace plimsoll {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // Limit of the format.
// Maximum parse events of one entry: enough for hundreds of dimensions, or keys of metadata.
constexpr int kMaxEvents = 1000;
constexpr size_t kMaxShown = 200;  // Maximum characters of a name in an error.
// The headers of usual models fit into the slack of a plan.
constexpr int64_t kUsualHeld = 64 << 10;
// Bytes held per byte of a header while it is parsed: a growing text needs twice its size plus its previous
// size, and the parsed value and the result need one byte each.
constexpr int64_t kParsing = 5;
constexpr const char* kMetadata = "__metadata__";

using TensorStreams = std::map<std::string, TensorStream>;

void read(const TensorStream& tensor, const TakeBytes& take) {
  tensor.read(take);
}
void read(const TensorSpan& tensor, const TakeBytes& take) {
  take(tensor.data);
}

// Returns the checksum of the content, which does not depend on how the header is written. `take` gets the
// bytes of all tensors.
template <typename Tensor>
std::string checksum_of(const std::map<std::string, Tensor>& tensors, const TensorMetadata& metadata,
                        const TakeBytes& take) {
  Hasher hasher;
  const auto add_number = [&](uint64_t number) { hasher.add(&number, sizeof(number)); };
  const auto add_text = [&](const std::string& text) {
    add_number(text.size());
    hasher.add(text.data(), text.size());
  };
  add_number(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    add_text(name);
    add_text(tensor.dtype);
    add_number(tensor.shape.size());
    for (const int64_t size : tensor.shape) add_number(static_cast<uint64_t>(size));
    read(tensor, [&](std::span<const std::byte> bytes) {
      hasher.add(bytes);
      take(bytes);
    });
  }
  for (const auto& [key, value] : metadata) {
    if (key == kChecksum) continue;
    add_text(key);
    add_text(value);
  }
  return hasher.hex64();
}

int64_t dtype_bytes(const std::string& dtype) {
  if (dtype == "F64" || dtype == "I64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16") return 2;
  if (dtype == "U8" || dtype == "I8" || dtype == "BOOL") return 1;
  return 0;
}

int64_t bytes_of(const TensorStream& tensor) {
  int64_t bytes = dtype_bytes(tensor.dtype);
  for (const int64_t size : tensor.shape) bytes *= size;
  return bytes;
}

TensorSpan parse_tensor(const Json& entry, std::span<const std::byte> data, const std::string& where) {
  TensorSpan tensor;
  std::vector<int64_t> offsets;
  try {
    tensor.dtype = entry.at("dtype");
    tensor.shape = whole_numbers(entry.at("shape"));
    offsets = whole_numbers(entry.at("data_offsets"));
  } catch (const Json::exception& error) {
    throw InputError(where + ": " + error.what());
  } catch (const UsageError& error) {
    throw InputError(where + ": " + error.what());
  }
  if (offsets.size() != 2)
    throw InputError(fmt::format("{}: {} data_offsets, expected 2", where, offsets.size()));
  int64_t bytes = dtype_bytes(tensor.dtype);
  if (bytes == 0)
    throw InputError(fmt::format("{}: dtype '{}' is not supported", where, shown(tensor.dtype)));
  for (const int64_t size : tensor.shape)
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes))
      throw InputError(where + ": impossible shape");
  if (offsets[0] < 0 || offsets[0] > offsets[1] || offsets[1] > std::ssize(data) ||
      offsets[1] - offsets[0] != bytes)
    throw InputError(fmt::format("{}: bytes {} to {} of {} do not hold its {} bytes", where, offsets[0],
                                 offsets[1], data.size(), bytes));
  tensor.data = data.subspan(static_cast<size_t>(offsets[0]), static_cast<size_t>(bytes));
  return tensor;
}

InputError unusable(const std::string& path, const std::string& what) {
  return InputError(path + ": not a usable safetensors file: " + what);
}

constexpr int64_t kNodeBytes = 240;  // Bytes of an entry in a map, with the overhead of malloc.

// Both functions return the bytes that their entries need.
int64_t add_tensor(const std::string& name, TensorSpan tensor, const std::string& path,
                   std::map<std::string, TensorSpan>& tensors) {
  const size_t bytes = name.size() + tensor.dtype.size() + tensor.shape.size() * sizeof(int64_t);
  if (!tensors.emplace(name, std::move(tensor)).second)
    throw unusable(path, fmt::format("tensor '{}' occurs twice", shown(name, kMaxShown)));
  return kNodeBytes + static_cast<int64_t>(bytes);
}

int64_t add_metadata(const Json& entry, const std::string& path, TensorMetadata& metadata) {
  if (!entry.is_object()) throw unusable(path, "__metadata__ is not an object");
  int64_t bytes = 0;
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string())
      throw unusable(path, fmt::format("metadata '{}' is not a text", shown(key, kMaxShown)));
    const auto& text = value.get_ref<const std::string&>();
    if (!metadata.emplace(key, text).second)
      throw unusable(path, fmt::format("metadata '{}' occurs twice", shown(key, kMaxShown)));
    bytes += kNodeBytes + static_cast<int64_t>(key.size() + text.size());
  }
  return bytes;
}

// Returns the header. A checkpoint may have thousands of tensors, and a JSON value of all of them would need
// four times the memory of the text.
std::string header_of(const TensorStreams& tensors, const TensorMetadata& metadata) {
  std::string text = fmt::format("{{\"{}\":{}", kMetadata, Json(metadata).dump());
  int64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const int64_t end = offset + bytes_of(tensor);
    const Json entry = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    text += fmt::format(",{}:{}", Json(name).dump(), entry.dump());
    offset = end;
  }
  return text + "}";
}

// Data after the header, whose length takes 8 bytes, is aligned.
std::string padded_header(const TensorStreams& tensors, TensorMetadata metadata,
                          const std::string& checksum) {
  constexpr size_t kAlignment = 64;
  metadata[kChecksum] = checksum;
  std::string text = header_of(tensors, metadata);
  text.resize((text.size() + 8 + kAlignment - 1) / kAlignment * kAlignment - 8, ' ');
  return text;
}

}  // namespace

TensorStream stream_of(const TensorSpan& tensor) {
  return {tensor.dtype, tensor.shape, [data = tensor.data](const TakeBytes& take) { take(data); }};
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, TensorSpan>& tensors,
                       const TensorMetadata& metadata, FileSystem& files) {
  TensorStreams streams;
  for (const auto& [name, tensor] : tensors) streams[name] = stream_of(tensor);
  write_safetensors(path, streams, metadata, files);
}

// The checksum is known, and the header written again, once all tensors are written.
void write_safetensors(const std::filesystem::path& path, const TensorStreams& tensors,
                       const TensorMetadata& metadata, FileSystem& files) {
  const std::string unknown(16, '0');
  const auto fill = [&](File& file) {
    const std::string text = padded_header(tensors, metadata, unknown);
    const uint64_t length = text.size();
    file.write(&length, sizeof(length));
    file.write(text.data(), text.size());
    const std::string checksum = checksum_of(
        tensors, metadata, [&](std::span<const std::byte> bytes) { file.write(bytes.data(), bytes.size()); });
    file.write_at(sizeof(length), padded_header(tensors, metadata, checksum).data(), text.size());
  };
  replace_file(path, fill, files);
}

SafetensorsView::SafetensorsView(const std::filesystem::path& path) : file_(path) {
  const std::span<const std::byte> bytes = file_.bytes();
  uint64_t length = 0;
  if (bytes.size() < sizeof(length)) throw unusable(file_.path(), "it is shorter than its first 8 bytes");
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kMaxHeaderBytes || length > bytes.size() - sizeof(length))
    throw unusable(file_.path(), "its header does not fit in it");
  const std::span<const std::byte> data = bytes.subspan(sizeof(length) + length);
  read_header({reinterpret_cast<const char*>(bytes.data()) + sizeof(length), length}, data);
  require_no_gaps(data);
  check();
}

// Entries are processed one by one and discarded. In a tree of all entries, each key would be compared with
// all earlier ones.
void SafetensorsView::read_header(std::string_view text, std::span<const std::byte> data) {
  using Event = Json::parse_event_t;
  Charge parsing(Tag::parameters, kParsing * std::max<int64_t>(std::ssize(text) - kUsualHeld, 0));
  std::string name;
  int events = 0;
  const auto take = [&](int depth, Event event, Json& parsed) {
    if (depth > 1 && ++events > kMaxEvents)
      throw unusable(path(), fmt::format("'{}' contains more than an entry may", shown(name, kMaxShown)));
    if (depth != 1 || event == Event::object_start || event == Event::array_start) return true;
    if (event == Event::key) {
      name = parsed.get<std::string>();
      events = 0;
      return true;
    }
    const int64_t bytes =
        name == kMetadata
            ? add_metadata(parsed, path(), metadata_)
            : add_tensor(
                  name,
                  parse_tensor(parsed, data, fmt::format("{}: tensor '{}'", path(), shown(name, kMaxShown))),
                  path(), tensors_);
    parsing.shrink(std::max<int64_t>(parsing.bytes() - bytes, 0));
    charge(bytes);
    return false;
  };
  if (!Json::parse(text, take, false).is_object()) throw unusable(path(), "its header is not a JSON object");
}

std::string SafetensorsView::hash() const {
  Hasher hasher;
  hasher.add(file_.bytes());
  return hasher.hex64();
}

void SafetensorsView::charge(int64_t bytes) {
  held_ += bytes;
  if (held_ > kUsualHeld) charge_.add(held_ - kUsualHeld - charge_.bytes());
}

// The format forbids gaps and overlaps. Tensors that share data would also need more memory once each has a
// copy.
void SafetensorsView::require_no_gaps(std::span<const std::byte> data) const {
  std::vector<const std::pair<const std::string, TensorSpan>*> in_order;
  const Charge charge(
      Tag::parameters,
      std::max<int64_t>(std::ssize(tensors_) * static_cast<int64_t>(sizeof(void*)) - kUsualHeld, 0));
  in_order.reserve(tensors_.size());
  for (const auto& tensor : tensors_) in_order.push_back(&tensor);
  const auto place = [](const auto* tensor) {
    const std::span<const std::byte> bytes = tensor->second.data;
    return std::pair(bytes.data(), bytes.size());
  };
  std::ranges::sort(in_order, {}, place);
  const std::byte* next = data.data();
  for (const auto* tensor : in_order) {
    const auto [first, bytes] = place(tensor);
    if (first != next)
      throw unusable(path(),
                     fmt::format("tensor '{}' begins at byte {} of the data, expected {}, where the one "
                                 "before it ends",
                                 shown(tensor->first, kMaxShown), first - data.data(), next - data.data()));
    next = first + bytes;
  }
  if (const auto end = next - data.data(); end != std::ssize(data))
    throw unusable(path(), fmt::format("its tensors end at byte {} of {} of the data", end, data.size()));
}

void SafetensorsView::check() const {
  const auto stored = metadata_.find(kChecksum);
  if (stored == metadata_.end()) return;  // Written by an older version or another tool.
  const std::string found = checksum_of(tensors_, metadata_, [](std::span<const std::byte>) {});
  if (found != stored->second)
    throw InputError(fmt::format(
        "{}: its tensors and metadata have the checksum {}, expected {}: the file is damaged; fetch it or "
        "train it again (to change it on purpose, remove '{}')",
        path(), found, stored->second, kChecksum));
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

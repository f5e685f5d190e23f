#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "store/safetensors.h"

namespace plimsoll {

/// Receives the next bytes of a tensor, which are valid only during the call.
using TakeBytes = std::function<void(std::span<const std::byte>)>;

/// A tensor that will be written to a safetensors file, and need not be in memory.
struct TensorStream {
  std::string dtype;  ///< "F32", "I64", ...
  std::vector<int64_t> shape;
  std::function<void(const TakeBytes& take)> read;  ///< Passes all bytes to `take`, row-major, in order.
};

/// Returns a stream of a tensor in memory, which must outlive the stream.
TensorStream stream_of(const TensorSpan& tensor);

/// Writes a file as write_safetensors() does with tensors in memory. Each tensor is read once. Errors: also
/// those of `read`; the old file is then kept.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, TensorStream>& tensors,
                       const TensorMetadata& metadata, FileSystem& files = FileSystem::disk());

}  // namespace plimsoll

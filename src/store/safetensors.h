#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/file.h"

namespace plimsoll {

/// One tensor of a safetensors file, or about to become one: a view of somebody else's memory.
struct TensorSpan {
  std::string dtype;  ///< "F32", "I64", ...
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  ///< row-major, little-endian
};

using TensorMetadata = std::map<std::string, std::string>;

/// Writes a safetensors file (github.com/huggingface/safetensors, format section of its README): tensors in
/// the order of their names, data 64-byte aligned; temporary name, sync, rename. Equal tensors and metadata
/// give equal bytes.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, TensorSpan>& tensors,
                       const TensorMetadata& metadata, FileSystem& files = FileSystem::disk());

/// A safetensors file mapped for reading. Errors: InputError that names the file and what is wrong with it.
class SafetensorsView {
 public:
  explicit SafetensorsView(const std::filesystem::path& path);

  const std::map<std::string, TensorSpan>& tensors() const { return tensors_; }
  const TensorMetadata& metadata() const { return metadata_; }
  const std::string& path() const { return file_.path(); }
  /// Errors: InputError that names the missing tensor or key.
  const TensorSpan& tensor(const std::string& name) const;
  const std::string& meta(const std::string& key) const;
  /// As MappedFile's: the tensors stay, and their pages come again when they are read.
  void release() const noexcept { file_.release(); }

 private:
  MappedFile file_;
  std::map<std::string, TensorSpan> tensors_;
  TensorMetadata metadata_;
};

}  // namespace plimsoll

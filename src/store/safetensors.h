#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "memory/charge.h"

namespace plimsoll {

/// A tensor that was read from a safetensors file or will be written to one: a view of memory that this
/// object does not own.
struct TensorSpan {
  std::string dtype;  ///< "F32", "I64", ...
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  ///< Row-major, little-endian, not necessarily aligned.
};

using TensorMetadata = std::map<std::string, std::string>;
inline constexpr const char* kChecksum = "plimsoll.checksum";  ///< Key in the metadata.

/// Writes a safetensors file (github.com/huggingface/safetensors, format section of its README). Tensors are
/// in the order of their names, without gaps; the first one begins at a multiple of 64 bytes. The file is
/// written under a temporary name, synced and renamed. Equal tensors and metadata give equal bytes. Sets
/// kChecksum in the metadata, replacing any given value (docs/formats/safetensors.md#the-checksum). Errors:
/// Failure (disk), Json::exception (a name or a text that is not UTF-8).
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, TensorSpan>& tensors,
                       const TensorMetadata& metadata, FileSystem& files = FileSystem::disk());

/// A safetensors file mapped for reading. Of the parsed header, what exceeds 64 KiB is in the ledger
/// (Tag::parameters). Tensors are valid as long as this object lives. Reading is thread-safe.
class SafetensorsView {
 public:
  /// Opens the file and reads it once to verify the checksum, if the file has one. Errors: InputError that
  /// names the file and the fault; Failure; BudgetExceeded.
  explicit SafetensorsView(const std::filesystem::path& path);

  const std::map<std::string, TensorSpan>& tensors() const { return tensors_; }
  const TensorMetadata& metadata() const { return metadata_; }
  const std::string& path() const { return file_.path(); }
  /// tensor() and meta() throw an InputError that names the missing tensor or key.
  const TensorSpan& tensor(const std::string& name) const;
  const std::string& meta(const std::string& key) const;
  /// Returns XXH3-64 of the whole file, as 16 hex digits. Reads the file each time.
  std::string hash() const;
  /// Releases the pages as MappedFile does. The tensors stay valid, and reading them maps their pages again.
  void release() const noexcept { file_.release(); }

 private:
  void read_header(std::string_view text, std::span<const std::byte> data);
  void require_no_gaps(std::span<const std::byte> data) const;
  void charge(int64_t bytes);
  void check() const;

  MappedFile file_;
  int64_t held_ = 0;  // Bytes of the members below.
  Charge charge_{Tag::parameters};
  std::map<std::string, TensorSpan> tensors_;
  TensorMetadata metadata_;
};

}  // namespace plimsoll

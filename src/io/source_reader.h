#pragma once

#include <filesystem>

#include "base/hash.h"
#include "io/file.h"

namespace plimsoll {

/// Reads a file, and counts and hashes the bytes read. It is the lowest stage of every InputStream. Not
/// thread-safe. Errors: those of File.
class SourceReader {
 public:
  explicit SourceReader(const std::filesystem::path& path) : file_(File::open(path)) {}

  /// Reads up to `bytes` bytes. Returns their number, 0 at the end.
  size_t read(void* data, size_t bytes) {
    const size_t got = file_.read(data, bytes);
    hasher_.add(data, got);
    bytes_read_ += static_cast<int64_t>(got);
    return got;
  }
  int64_t bytes_read() const { return bytes_read_; }
  /// Returns XXH3-64 of the bytes read so far as 16 hex digits.
  std::string hash() const { return hasher_.hex64(); }
  const std::string& path() const { return file_.path(); }

 private:
  File file_;
  Hasher hasher_;
  int64_t bytes_read_ = 0;
};

}  // namespace plimsoll

#pragma once

#include <filesystem>

#include "base/hash.h"
#include "io/file.h"

namespace plimsoll {

/// Reads a file, and counts and hashes the bytes read. It is the lowest stage of every InputStream.
class SourceReader {
 public:
  explicit SourceReader(const std::filesystem::path& path) : file_(File::open(path)) {}

  size_t read(void* data, size_t bytes) {
    const size_t got = file_.read(data, bytes);
    hasher_.add(data, got);
    bytes_read_ += static_cast<int64_t>(got);
    return got;
  }
  int64_t bytes_read() const { return bytes_read_; }
  std::string hash() const { return hasher_.hex64(); }
  const std::string& path() const { return file_.path(); }

 private:
  File file_;
  Hasher hasher_;
  int64_t bytes_read_ = 0;
};

}  // namespace plimsoll

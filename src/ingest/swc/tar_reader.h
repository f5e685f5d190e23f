#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "io/input_stream.h"

namespace plimsoll {

/// Reads the regular files of a tar archive in the order of the archive. Supports ustar, with the long
/// names of GNU and pax. Nothing is unpacked to disk, and names are never used as paths. Not thread-safe.
/// Errors of all functions: InputError (archive and byte; damaged or truncated), Failure, BudgetExceeded.
class TarReader {
 public:
  explicit TarReader(const std::filesystem::path& path);

  /// Advances to the next regular file; returns false after the last one. Call it before the functions below.
  bool next();
  const std::string& name() const { return name_; }
  int64_t bytes() const { return bytes_; }
  /// Reads up to `bytes` bytes of the current file; fewer only at its end.
  size_t read(char* data, size_t bytes);

 private:
  static constexpr int64_t kBlock = 512;
  void fill(char* data, int64_t bytes);
  void skip(int64_t bytes);
  std::string read_text(int64_t bytes);

  std::string path_;
  std::unique_ptr<InputStream> stream_;
  std::string name_;
  int64_t bytes_ = 0;
  int64_t left_ = 0;     // Remaining bytes of the current file.
  int64_t padding_ = 0;  // Bytes of padding after the current file.
  int64_t at_ = 0;       // Position in the archive.
};

}  // namespace plimsoll

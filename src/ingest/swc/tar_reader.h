#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "io/input_stream.h"

namespace plimsoll {

/// The plain files of a tar archive in its order: ustar, with the long names of GNU and of pax. Nothing is
/// unpacked to disk, so that names are only compared. Not thread-safe. Errors of all: InputError (archive and
/// byte; damaged or cut off), BudgetExceeded.
class TarReader {
 public:
  explicit TarReader(const std::filesystem::path& path);

  /// Goes on to the next plain file; false after the last one.
  bool next();
  const std::string& name() const { return name_; }
  int64_t bytes() const { return bytes_; }
  /// Of the present file up to so many bytes that were not read; less only at its end.
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
  int64_t left_ = 0;     // of the present file
  int64_t padding_ = 0;  // after it
  int64_t at_ = 0;       // in the archive
};

}  // namespace plimsoll

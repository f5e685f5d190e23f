#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "io/input_stream.h"

namespace plimsoll {

/// A zip archive opened for reading. Members are read as streams and never unpacked to disk. Their names are
/// never used as paths, so even malicious names do no harm. The file is mapped. Other memory of the library
/// is entered in the ledger under Tag::ingest. Not thread-safe.
class ZipArchive {
 public:
  /// Errors: InputError (no such file, not a zip archive, incomplete, damaged, zip64), BudgetExceeded,
  /// Failure (libzip is missing; the file cannot be read).
  explicit ZipArchive(const std::filesystem::path& path);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  int64_t members() const;
  /// Returns the name of a member, counted from 0, including its folders. Names of folders end with a slash.
  /// The name is valid as long as the archive; it is empty if there is no such member.
  std::string_view name(int64_t member) const;
  /// Returns a stream of a member's unpacked bytes. The stream's bytes_read() and source_hash() also refer to
  /// these. The archive must outlive the stream; several members may be open at once. Errors: InputError
  /// (damaged, encrypted, or compressed by a method other than deflate), BudgetExceeded. read() also throws
  /// InputError, for a wrong checksum too.
  std::unique_ptr<InputStream> open(int64_t member) const;

  int64_t bytes() const;  ///< Bytes of the file.

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "io/input_stream.h"

namespace plimsoll {

/// A zip archive opened for reading. Members are read as streams and never unpacked to disk, so that their
/// names, whatever they hold, are only compared. The file is mapped; what the library holds beside it is
/// entered in the ledger under Tag::ingest. Not thread-safe.
class ZipArchive {
 public:
  /// Errors: InputError (not there, not a zip archive, cut off, damaged, zip64), BudgetExceeded.
  explicit ZipArchive(const std::filesystem::path& path);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  int64_t members() const;
  /// The name of a member, with its folders; folders end with a slash. Valid as long as the archive.
  std::string_view name(int64_t member) const;
  /// The bytes of a member; its bytes_read() and source_hash() are of what was unpacked. The archive must
  /// outlive it; several may be open at once. Errors: InputError (damaged, encrypted, packed otherwise than
  /// by deflate), BudgetExceeded; read() gives the first as well, also when the checksum is another.
  std::unique_ptr<InputStream> open(int64_t member) const;

  int64_t bytes() const;  ///< of the file

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "io/file.h"

namespace plimsoll {

/// A file for reads at offsets that are multiples of `alignment`, of lengths and into memory that are, too.
struct AlignedFile {
  File file;
  int64_t alignment = 1;
  int64_t bytes = 0;  ///< its size when it was opened
  FileIdentity identity = {};
  bool direct = false;  ///< reads pass the page cache by
};

/// Through the page cache: any offset will do. Errors: InputError (not there), Failure.
AlignedFile open_buffered(const std::filesystem::path& path);

/// With O_DIRECT, aligned to the sectors of the device; none where the file system has no such thing.
/// Errors: as above.
std::optional<AlignedFile> open_direct(const std::filesystem::path& path);

}  // namespace plimsoll

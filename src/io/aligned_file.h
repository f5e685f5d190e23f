#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "io/file.h"

namespace plimsoll {

/// An open file. Offsets and lengths of its reads, and the memory they are read into, must be aligned to
/// `alignment` bytes.
struct AlignedFile {
  File file;
  int64_t alignment = 1;
  int64_t bytes = 0;  ///< Size of the file when it was opened.
  FileIdentity identity = {};
  bool direct = false;  ///< Whether reads bypass the page cache.
};

/// Opens a file through the page cache, with an alignment of 1. Errors: InputError (no such file), Failure.
AlignedFile open_buffered(const std::filesystem::path& path);

/// Opens a file with O_DIRECT, aligned to the sectors of the device. Returns nullopt if the file system does
/// not support it, or a read by it fails. Errors: those of open_buffered().
std::optional<AlignedFile> open_direct(const std::filesystem::path& path);

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <filesystem>

namespace plimsoll {

/// Compression of text files that InputStream reads.
enum class Compression : uint8_t { none, gzip, zstd };

/// Returns how a file is compressed. A regular file is recognised by its first bytes if they are those of a
/// known format. Otherwise, and for files that are not regular or do not exist, the name decides
/// (is_compressed_name()). Errors: InputError for bzip2, xz, lz4 and zip, with the command that unpacks them;
/// Failure for a file that cannot be read.
Compression compression_of(const std::filesystem::path& path);

}  // namespace plimsoll

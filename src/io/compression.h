#pragma once

#include <cstdint>
#include <filesystem>

namespace plimsoll {

/// Compression of text files that InputStream reads.
enum class Compression : uint8_t { none, gzip, zstd };

/// Returns how a file is compressed. A regular file is recognised by its first bytes if they are those of a
/// known format, otherwise by its name (is_compressed_name()), like files that are not regular. Errors:
/// InputError for a missing file, and for bzip2, xz, lz4 and zip, with the command that unpacks them.
Compression compression_of(const std::filesystem::path& path);

}  // namespace plimsoll

#pragma once

#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace plimsoll {

/// A member of a zip archive to be written. Its header may contain wrong values.
struct ZipMember {
  std::string name;
  std::string text;
  uint16_t method = 8;  ///< 8 for deflate. With any other value the text is stored uncompressed.
  uint16_t flags = 0;   ///< 1 for encrypted.
};

inline std::string raw_deflate(const std::string& text) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::logic_error("deflateInit2");
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::logic_error("deflate");
  return packed;
}

/// Returns a zip archive (PKWARE's APPNOTE.TXT, 4.3), built byte by byte so that a test may damage it
/// anywhere.
inline std::string zip_of(const std::vector<ZipMember>& members) {
  const auto number = [](uint64_t value, int bytes) {
    std::string result;
    for (int i = 0; i < bytes; ++i) result += static_cast<char>(value >> (8 * i) & 0xFF);
    return result;
  };
  std::string archive;
  std::string directory;
  for (const ZipMember& member : members) {
    const std::string packed = member.method == 8 ? raw_deflate(member.text) : member.text;
    const uint64_t sum =
        crc32(0, reinterpret_cast<const Bytef*>(member.text.data()), static_cast<uInt>(member.text.size()));
    const std::string common = number(20, 2) + number(member.flags, 2) + number(member.method, 2) +
                               number(0, 2) + number(0x21, 2) + number(sum, 4) + number(packed.size(), 4) +
                               number(member.text.size(), 4) + number(member.name.size(), 2) + number(0, 2);
    directory += "PK\1\2" + number(20, 2) + common + number(0, 2) + number(0, 2) + number(0, 2) +
                 number(0, 4) + number(archive.size(), 4) + member.name;
    archive += "PK\3\4" + common + member.name + packed;
  }
  const size_t start = archive.size();
  archive += directory;
  archive += "PK\5\6" + number(0, 4) + number(members.size(), 2) + number(members.size(), 2) +
             number(directory.size(), 4) + number(start, 4) + number(0, 2);
  return archive;
}

}  // namespace plimsoll

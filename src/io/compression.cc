#include "io/compression.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/error.h"
#include "io/file.h"
#include "io/file_ending.h"

namespace plimsoll {
namespace {

using namespace std::string_view_literals;

struct Unread {
  std::string_view magic;
  std::string_view name;
  std::string_view unpacker;  // The command that writes the text to its output.
};

// The digit between the two parts of bzip2's magic is the block size; is_bzip2() checks the first part.
constexpr std::array<Unread, 3> kUnread = {{{"\xFD"
                                             "7zXZ\0"sv,
                                             "xz", "xzcat"},
                                            {"\x04\x22\x4D\x18"sv, "lz4", "lz4 -dc"},
                                            {"PK\x03\x04"sv, "zip", "unzip -p"}}};

bool is_bzip2(std::string_view bytes) {
  constexpr std::string_view kBlock = "\x31\x41\x59\x26\x53\x59"sv;
  constexpr std::string_view kEmpty = "\x17\x72\x45\x38\x50\x90"sv;
  return bytes.starts_with("BZh") && bytes.size() >= 10 &&
         (bytes.substr(4, 6) == kBlock || bytes.substr(4, 6) == kEmpty);
}

InputError refused(const std::filesystem::path& path, std::string_view name, std::string_view unpacker) {
  return InputError(
      fmt::format("{0}: found {1} data, expected plain text, gzip or zstd; unpack it first: {2} {0} > TEXT",
                  path.string(), name, unpacker));
}

}  // namespace

Compression compression_of(const std::filesystem::path& path) {
  std::error_code unknown;
  if (std::filesystem::is_regular_file(path, unknown)) {
    std::array<char, 10> first{};
    File file = File::open(path);
    const std::string_view bytes(first.data(), file.read(first.data(), first.size()));
    if (bytes.starts_with("\x1F\x8B"sv)) return Compression::gzip;
    if (bytes.starts_with("\x28\xB5\x2F\xFD"sv)) return Compression::zstd;
    if (is_bzip2(bytes)) throw refused(path, "bzip2", "bzcat");
    for (const Unread& unread : kUnread)
      if (bytes.starts_with(unread.magic)) throw refused(path, unread.name, unread.unpacker);
  }
  const std::string ending = lower_ending(path);
  if (ending == ".gz") return Compression::gzip;
  return ending == ".zst" ? Compression::zstd : Compression::none;
}

}  // namespace plimsoll

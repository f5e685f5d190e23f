#include "io/npz.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace plimsoll {
namespace {

// Structures of a zip archive: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3.7 to 4.3.16 and 4.5.3.
constexpr uint32_t kEnd = 0x06054B50, kEnd64 = 0x06064B50, kLocator64 = 0x07064B50;
constexpr uint32_t kEntry = 0x02014B50, kLocal = 0x04034B50;
constexpr size_t kEndBytes = 22, kLocatorBytes = 20, kEntryBytes = 46, kLocalBytes = 30;
constexpr size_t kLongestComment = 0xFFFF;

struct Member {
  std::string name = {};  // Without .npy.
  uint64_t bytes = 0;
  uint64_t offset = 0;  // Offset of its local header.
  bool is_stored = false;
};

class Archive {
 public:
  Archive(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) { read(); }

  const std::vector<Member>& members() const { return members_; }

  std::span<const std::byte> data(const Member& member) const {
    require(number<uint32_t>(member.offset) == kLocal);
    const uint64_t begin = member.offset + kLocalBytes + number<uint16_t>(member.offset + 26) +
                           number<uint16_t>(member.offset + 28);
    require(begin <= bytes_.size() && member.bytes <= bytes_.size() - begin);
    return bytes_.subspan(begin, member.bytes);
  }

 private:
  void require(bool condition) const {
    if (!condition)
      throw InputError(path_ + ": not a usable .npz file: its directory is damaged; fetch it again");
  }
  template <typename T>
  T number(uint64_t at) const {
    require(at <= bytes_.size() && sizeof(T) <= bytes_.size() - at);
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  void read() {
    require(bytes_.size() >= kEndBytes);
    uint64_t end = bytes_.size() - kEndBytes;
    const uint64_t first = end - std::min<uint64_t>(end, kLongestComment);
    while (number<uint32_t>(end) != kEnd && end > first) --end;
    require(number<uint32_t>(end) == kEnd);
    uint64_t count = number<uint16_t>(end + 10);
    uint64_t at = number<uint32_t>(end + 16);
    if (end >= kLocatorBytes && number<uint32_t>(end - kLocatorBytes) == kLocator64) {
      const auto wide = number<uint64_t>(end - kLocatorBytes + 8);
      require(number<uint32_t>(wide) == kEnd64);
      count = number<uint64_t>(wide + 32);
      at = number<uint64_t>(wide + 48);
    }
    require(count <= bytes_.size() / kEntryBytes);
    for (; count > 0; --count) at = read_entry(at);
  }

  // Reads an entry of the directory and returns the offset of the next one.
  uint64_t read_entry(uint64_t at) {
    require(number<uint32_t>(at) == kEntry);
    const uint64_t name_bytes = number<uint16_t>(at + 28);
    const uint64_t extra = at + kEntryBytes + name_bytes;
    const uint64_t extra_end = extra + number<uint16_t>(at + 30);
    require(extra_end <= bytes_.size());
    Member member{.bytes = number<uint32_t>(at + 24),
                  .offset = number<uint32_t>(at + 42),
                  .is_stored = number<uint16_t>(at + 10) == 0};
    member.name.assign(reinterpret_cast<const char*>(bytes_.data()) + at + kEntryBytes, name_bytes);
    if (member.name.ends_with(".npy")) member.name.resize(member.name.size() - 4);
    read_wide_sizes(extra, extra_end, number<uint32_t>(at + 20) == UINT32_MAX, member);
    members_.push_back(std::move(member));
    return extra_end + number<uint16_t>(at + 32);
  }

  // Sizes of more than 32 bits are in an extra field, each only if it is that large.
  void read_wide_sizes(uint64_t at, uint64_t end, bool packed_is_wide, Member& member) const {
    while (at + 4 <= end) {
      const auto kind = number<uint16_t>(at);
      const uint64_t next = at + 4 + number<uint16_t>(at + 2);
      if (kind == 1) {
        at += 4;
        const auto take = [&](uint64_t& value) {
          value = number<uint64_t>(at);
          at += sizeof value;
        };
        if (member.bytes == UINT32_MAX) take(member.bytes);
        if (packed_is_wide) at += sizeof(uint64_t);
        if (member.offset == UINT32_MAX) take(member.offset);
      }
      at = next;
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  std::vector<Member> members_;
};

}  // namespace

std::span<const std::byte> npz_member(std::span<const std::byte> archive, const std::string& path,
                                      const std::string& member) {
  const Archive read(archive, path);
  const std::vector<Member>& all = read.members();
  std::vector<std::string> names;
  for (const Member& found : all) names.push_back(found.name);
  if (member.empty() && all.size() != 1)
    throw InputError(fmt::format("{}: found the arrays {}, expected one; name one as {}:NAME", path,
                                 fmt::join(names, ", "), path));
  const auto found = member.empty() ? all.begin() : std::ranges::find(all, member, &Member::name);
  if (found == all.end())
    throw InputError(
        fmt::format("{}: has no array '{}', expected one of {}", path, member, fmt::join(names, ", ")));
  if (!found->is_stored)
    throw InputError(
        fmt::format("{}: the array '{}' is compressed, expected numpy.savez's form; save it again with "
                    "numpy.savez, or as .npy",
                    path, found->name));
  return read.data(*found);
}

}  // namespace plimsoll

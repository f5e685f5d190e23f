#include "io/hidden_name.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {

std::string hidden_prefix(const std::filesystem::path& path, const char* tag) {
  constexpr size_t kMaxName = 255;    // NAME_MAX of Linux.
  constexpr size_t kMaxNumbers = 13;  // A process number of up to 7 digits, a dot and a number.
  const std::string ending = fmt::format(".{}.", tag);
  std::string name = fmt::format(".{}", path.filename().string());
  size_t size = std::min(name.size(), kMaxName - kMaxNumbers - ending.size());
  const auto continues_character = [&] {
    return size < name.size() && (static_cast<unsigned char>(name[size]) & 0xC0U) == 0x80U;
  };
  while (size > 1 && continues_character()) --size;  // Some file systems refuse part of a UTF-8 character.
  name.resize(size);
  return name + ending;
}

}  // namespace plimsoll

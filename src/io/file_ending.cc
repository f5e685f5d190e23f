#include "io/file_ending.h"

#include <algorithm>

namespace plimsoll {

std::string lower_ending(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return ending;
}

bool is_compressed_name(const std::filesystem::path& path) {
  const std::string ending = lower_ending(path);
  return ending == ".zst" || ending == ".gz";
}

}  // namespace plimsoll

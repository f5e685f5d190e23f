#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll {

/// Returns the sorted names in a folder, including hidden files, so that leftover temporary files are found.
inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace plimsoll

#pragma once

#include <filesystem>

#include "io/file_system.h"

namespace plimsoll {

/// Returns whether a folder exists and is empty.
inline bool is_empty_folder(FileSystem& files, const std::filesystem::path& path) {
  const auto names = files.names_in(path);
  return names && names->empty();
}

}  // namespace plimsoll

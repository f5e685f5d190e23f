#pragma once

#include <filesystem>

#include "io/file_system.h"

namespace plimsoll {

/// Whether a folder is there and has nothing in it.
inline bool is_empty_folder(FileSystem& files, const std::filesystem::path& path) {
  const auto names = files.names_in(path);
  return names && names->empty();
}

}  // namespace plimsoll

#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace plimsoll {

/// The folder for the files of this program, below TMPDIR; removed when the program ends.
class Scratch {
 public:
  static const std::filesystem::path& folder() {
    static const Scratch scratch;
    return scratch.path_;
  }
  /// Writes a file below the folder and returns its path.
  static std::filesystem::path write(const std::string& name, std::string_view bytes) {
    const std::filesystem::path path = folder() / name;
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

 private:
  Scratch()
      : path_(std::filesystem::temp_directory_path() / ("plimsoll_fuzz_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path path_;
};

}  // namespace plimsoll

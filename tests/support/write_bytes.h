#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace plimsoll {

/// Writes a file as given, without the care of the code under test.
inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Changes one bit of a file.
inline void flip_bit(const std::filesystem::path& path, size_t at, int bit = 0) {
  std::string bytes = read_bytes(path);
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ (1 << bit));
  write_bytes(path, bytes);
}

}  // namespace plimsoll

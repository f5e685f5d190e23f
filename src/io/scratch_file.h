#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace plimsoll {

/// Space for scratch files.
struct ScratchSpace {
  std::filesystem::path folder = {};  ///< An existing folder; empty: no scratch files.
  /// Maximum total bytes of all files; nullopt: as many as are useful.
  std::optional<int64_t> bytes = {};
  /// Used instead of an empty `folder` for files that are deleted before the first block is read.
  std::filesystem::path temporary = {};
};

/// A file without a name. It is deleted when the object is destroyed, or when the process ends for any
/// reason. It bypasses the page cache if the file system allows it, so offsets, lengths and memory must be
/// multiples of kAlignment. Thread-safe.
class ScratchFile {
 public:
  static constexpr int64_t kAlignment = 4096;

  /// Returns whether a folder is on a file system in memory (tmpfs). No budget counts the files on it.
  static bool is_in_memory(const std::filesystem::path& folder);
  /// Returns the free bytes on the disk of a folder; 0 if it is in memory or unknown.
  static int64_t free_bytes(const std::filesystem::path& folder);
  /// Returns the maximum size of a file that make() would now make in a folder: half of free_bytes(), so that
  /// the other half is left for other uses.
  static int64_t room(const std::filesystem::path& folder);
  /// Makes a file of `bytes`, above 0, on the disk of a folder, allocated at once. Returns nullopt if room()
  /// is smaller, or the file cannot be made or its bytes not be allocated.
  static std::optional<ScratchFile> make(const std::filesystem::path& folder, int64_t bytes);
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&& other) noexcept;
  ~ScratchFile();

  int64_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }
  /// write() and read() throw Failure with the folder, the offset and the reason.
  void write(int64_t offset, std::span<const std::byte> data);
  void read(int64_t offset, std::span<std::byte> data) const;

 private:
  ScratchFile(int descriptor, int64_t bytes, std::string where)
      : descriptor_(descriptor), bytes_(bytes), where_(std::move(where)) {}

  int descriptor_;
  int64_t bytes_;
  std::string where_;
};

}  // namespace plimsoll

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace plimsoll {

/// Where scratch files may lie.
struct ScratchSpace {
  std::filesystem::path folder = {};  ///< that is there; empty: nowhere
  std::optional<int64_t> bytes = {};  ///< of all together at most; none: as many as they are of use
};

/// A file without a name that goes with its scope, or with the process however it ends. It passes the page
/// cache by where the file system allows: offsets, lengths and memory are multiples of kAlignment. Any number
/// of threads may call it at once.
class ScratchFile {
 public:
  static constexpr int64_t kAlignment = 4096;

  /// Whether the file system of a folder is memory (tmpfs), which no budget counts.
  static bool is_in_memory(const std::filesystem::path& folder);
  /// Free bytes on the disk of a folder; 0 if that is memory or cannot be asked.
  static int64_t free_bytes(const std::filesystem::path& folder);
  /// The largest file that make() makes in a folder at this moment: half of free_bytes(), so that as much is
  /// left to others.
  static int64_t room(const std::filesystem::path& folder);
  /// `bytes` of the disk on which a folder lies, all taken at once; none where there is no room() for them or
  /// they cannot be taken.
  static std::optional<ScratchFile> make(const std::filesystem::path& folder, int64_t bytes);
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&& other) noexcept;
  ~ScratchFile();

  int64_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }
  /// Errors: Failure with the folder, the offset and the reason.
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

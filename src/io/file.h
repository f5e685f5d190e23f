#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "io/file_system.h"
#include "io/lost_mapping.h"

namespace plimsoll {

/// Identifies a file even if another file later gets its name.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// An open file, which the destructor closes. Movable, not thread-safe. Errors of all members: Failure that
/// names the path, the reason and, for a full disk, the remedy.
class File {
 public:
  /// Opens a file for reading. Errors: InputError if the file does not exist.
  static File open(const std::filesystem::path& path, FileSystem& files = FileSystem::disk());
  /// Opens a file for reading; nothing if it does not exist.
  static std::optional<File> open_if_exists(const std::filesystem::path& path,
                                            FileSystem& files = FileSystem::disk());
  /// Creates an empty file for writing, in place of any existing one.
  static File create(const std::filesystem::path& path, FileSystem& files = FileSystem::disk());
  /// Opens a file for reading and for overwriting its bytes. Creates it if it does not exist.
  static File update(const std::filesystem::path& path, FileSystem& files = FileSystem::disk());
  /// Creates a file for writing next to `path`, under an unused hidden name (make_beside). path() returns the
  /// name.
  static File create_beside(const std::filesystem::path& path, FileSystem& files = FileSystem::disk());
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  /// Reads up to `bytes` bytes from where the last read ended. Returns their number, 0 at the end. Errors:
  /// also InputError if the path is a folder.
  size_t read(void* data, size_t bytes);
  /// Writes after the bytes of earlier calls. The first call writes at the beginning, also after update().
  void write(const void* data, size_t bytes);
  /// Writes at an offset, whatever write() has written.
  void write_at(int64_t offset, const void* data, size_t bytes);
  /// Returns once all written bytes are on the disk.
  void sync();
  /// Locks the file. Returns 0, or -1 and sets errno; see FileSystem::lock().
  int lock() { return files_->lock(descriptor_, path_); }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  File(FileSystem& files, int descriptor, std::string path)
      : files_(&files), descriptor_(descriptor), path_(std::move(path)) {}

  FileSystem* files_;
  int descriptor_ = -1;
  std::string path_;
  int64_t written_ = 0;
};

/// A whole file mapped for reading. Its pages belong to the page cache and do not count against the budget.
/// The bytes are valid as long as the object, or the one to which it was moved, lives. If the file is
/// shortened in the meantime, reading them raises SIGBUS (io/lost_mapping.h).
class MappedFile {
 public:
  MappedFile() = default;
  /// An empty file has no bytes. Errors: InputError (no such file), Failure.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  /// The identity of the file, unique as long as it is mapped.
  const FileIdentity& identity() const { return identity_; }
  /// Unmaps the pages from the process. They stay in the page cache, and the next access maps them again.
  void release() const noexcept;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::string path_;
  MappingPlace place_;
  FileIdentity identity_;
};

/// Returns a small file as text. Errors: InputError if it does not exist or is a folder, Failure if it cannot
/// be read.
std::string read_text(const std::filesystem::path& path, FileSystem& files = FileSystem::disk());

/// Returns a small file as text; nothing if it does not exist, also if another process removes it at this
/// moment. Errors: InputError if it is a folder, Failure if it cannot be read.
std::optional<std::string> read_text_if_exists(const std::filesystem::path& path,
                                               FileSystem& files = FileSystem::disk());

/// Replaces a file whole or not at all. `fill` writes it under a temporary name. Then the file is synced and
/// renamed, and its folder is synced. If a step up to the rename fails, the old file is kept and the
/// temporary one is removed. If the sync of the folder fails, the new file is in place, but a power failure
/// may bring back the old one. Errors: Failure, and those of `fill`.
void replace_file(const std::filesystem::path& path, const std::function<void(File&)>& fill,
                  FileSystem& files = FileSystem::disk());
/// Replaces a file by `text`, as replace_file() does. Errors: Failure.
void write_text(const std::filesystem::path& path, const std::string& text,
                FileSystem& files = FileSystem::disk());

}  // namespace plimsoll

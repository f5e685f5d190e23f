#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "io/file_system.h"
#include "io/lost_mapping.h"

namespace plimsoll {

/// A file itself, whose name may be that of another one later.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// An open file; closed with its scope. Movable, not thread-safe. Errors: Failure that names the path, the
/// reason and, for a full disk, the remedy.
class File {
 public:
  /// For reading. Errors: InputError if it is not there.
  static File open(const std::filesystem::path& path, FileSystem& files = FileSystem::disk());
  /// For writing, from nothing.
  static File create(const std::filesystem::path& path, FileSystem& files = FileSystem::disk());
  /// For reading, and for writing over what is there; made where it is missing.
  static File update(const std::filesystem::path& path, FileSystem& files = FileSystem::disk());
  /// For writing, under a name of its own beside `path` (make_beside), which path() tells.
  static File create_beside(const std::filesystem::path& path, FileSystem& files = FileSystem::disk());
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  /// Reads up to `bytes`; 0 at the end.
  size_t read(void* data, size_t bytes);
  /// Appends to what write() wrote.
  void write(const void* data, size_t bytes);
  /// Writes over what is there already.
  void write_at(int64_t offset, const void* data, size_t bytes);
  /// What was written is on the disk when this returns.
  void sync();
  /// As FileSystem::lock().
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

/// A whole file mapped for reading: pages come and go with the page cache and cost no budget.
/// The bytes stay valid as long as the object lives.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  /// No other file has it as long as this one is mapped.
  const FileIdentity& identity() const { return identity_; }
  /// The process lets go of its pages, which stay in the page cache; who reads the bytes has them again.
  void release() const noexcept;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::string path_;
  MappingPlace place_;
  FileIdentity identity_;
};

/// A small file as text. Errors: InputError if it is not there, Failure if it cannot be read.
std::string read_text(const std::filesystem::path& path, FileSystem& files = FileSystem::disk());

/// Replaces a file whole or not at all: `fill` writes it under a temporary name; sync, rename, sync of the
/// folder. If anything up to the rename fails, the old file stays and the temporary one goes. If the sync of
/// the folder fails, the new one is there, but a power failure may bring back the old. Errors: Failure, and
/// those of `fill`.
void replace_file(const std::filesystem::path& path, const std::function<void(File&)>& fill,
                  FileSystem& files = FileSystem::disk());
void write_text(const std::filesystem::path& path, const std::string& text,
                FileSystem& files = FileSystem::disk());

}  // namespace plimsoll

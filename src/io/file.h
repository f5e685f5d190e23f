#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace plimsoll {

/// An open file descriptor; closed with its scope. Movable, not thread-safe. Errors: Failure that names the
/// path.
class File {
 public:
  static File open(const std::filesystem::path& path);    ///< for reading
  static File create(const std::filesystem::path& path);  ///< for writing, from nothing
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  /// Reads up to `bytes`; 0 at the end.
  size_t read(void* data, size_t bytes);
  void write(const void* data, size_t bytes);
  void write_at(int64_t offset, const void* data, size_t bytes);
  void sync();
  int64_t size() const;
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;
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

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::string path_;
};

/// A small file as text. Errors: InputError if it is not there, Failure if it cannot be read.
std::string read_text(const std::filesystem::path& path);

/// Replaces a file whole or not at all: `fill` writes it under a temporary name; sync, rename, sync of the
/// folder. If anything fails, the old file stays and the temporary one goes.
void replace_file(const std::filesystem::path& path, const std::function<void(File&)>& fill);
void write_text(const std::filesystem::path& path, const std::string& text);

void sync_folder(const std::filesystem::path& folder);

}  // namespace plimsoll

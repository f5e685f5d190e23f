#include "io/file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <utility>

namespace plimsoll {

File File::open(const std::filesystem::path& path, FileSystem& files) {
  std::optional<File> file = open_if_exists(path, files);
  if (!file) throw InputError("no such file: " + path.string());
  return std::move(*file);
}

std::optional<File> File::open_if_exists(const std::filesystem::path& path, FileSystem& files) {
  const int descriptor = files.open(path, FileSystem::Open::read);
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (descriptor < 0) throw file_failure("cannot open", path);
  return File(files, descriptor, path.string());
}

File File::create(const std::filesystem::path& path, FileSystem& files) {
  const int descriptor = files.open(path, FileSystem::Open::write);
  if (descriptor < 0) throw file_failure("cannot create", path);
  return {files, descriptor, path.string()};
}

File File::update(const std::filesystem::path& path, FileSystem& files) {
  const int descriptor = files.open(path, FileSystem::Open::update);
  if (descriptor < 0) throw file_failure("cannot open", path);
  return {files, descriptor, path.string()};
}

File File::create_beside(const std::filesystem::path& path, FileSystem& files) {
  int descriptor = -1;
  const auto name = make_beside(path, "tmp", [&](const std::filesystem::path& free) {
    return descriptor = files.open(free, FileSystem::Open::write_new);
  });
  return {files, descriptor, name.string()};
}

File::File(File&& other) noexcept
    : files_(other.files_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      written_(other.written_) {}

File& File::operator=(File&& other) noexcept {
  std::swap(files_, other.files_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(written_, other.written_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) files_->close(descriptor_);
}

size_t File::read(void* data, size_t bytes) {
  for (;;) {
    const int64_t got = files_->read(descriptor_, data, bytes);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == EISDIR) throw InputError(path_ + ": is a folder, expected a file");
    if (errno != EINTR) throw file_failure("cannot read", path_);
  }
}

void File::write(const void* data, size_t bytes) {
  write_at(written_, data, bytes);
  written_ += static_cast<int64_t>(bytes);
}

void File::write_at(int64_t offset, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const int64_t put = files_->write(descriptor_, offset, at, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw file_failure("cannot write", path_);
    at += put;
    offset += put;
    bytes -= static_cast<size_t>(put);
  }
}

void File::sync() {
  if (files_->sync(descriptor_) != 0) throw file_failure("cannot sync", path_);
}

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path.string()) {
  const File file = File::open(path);
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) throw file_failure("cannot stat", path_);
  size_ = static_cast<size_t>(status.st_size);
  identity_ = {status.st_dev, status.st_ino};
  if (size_ == 0) return;
  void* const data = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (data == MAP_FAILED) throw file_failure("cannot map", path_);
  data_ = static_cast<const std::byte*>(data);
  place_ = MappingPlace(data_, size_, path_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)),
      place_(std::move(other.place_)),
      identity_(other.identity_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  std::swap(place_, other.place_);
  std::swap(identity_, other.identity_);
  return *this;
}

void MappedFile::release() const noexcept {
  if (data_ != nullptr) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

namespace {

std::string all_of(File file) {
  std::string text;
  std::array<char, 16 * 1024> piece;
  for (size_t got = file.read(piece.data(), piece.size()); got > 0;
       got = file.read(piece.data(), piece.size()))
    text.append(piece.data(), got);
  return text;
}

}  // namespace

std::string read_text(const std::filesystem::path& path, FileSystem& files) {
  return all_of(File::open(path, files));
}

std::optional<std::string> read_text_if_exists(const std::filesystem::path& path, FileSystem& files) {
  std::optional<File> file = File::open_if_exists(path, files);
  return file ? std::optional(all_of(std::move(*file))) : std::nullopt;
}

void replace_file(const std::filesystem::path& path, const std::function<void(File&)>& fill,
                  FileSystem& files) {
  File file = File::create_beside(path, files);
  try {
    fill(file);
    file.sync();
    if (files.rename(file.path(), path, FileSystem::Rename::replace) != 0)
      throw file_failure("cannot rename to", path);
  } catch (...) {
    files.remove_file(file.path());
    throw;
  }
  sync_folder(path.parent_path(), files);
}

void write_text(const std::filesystem::path& path, const std::string& text, FileSystem& files) {
  const auto fill = [&](File& file) { file.write(text.data(), text.size()); };
  replace_file(path, fill, files);
}

}  // namespace plimsoll

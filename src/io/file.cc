#include "io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"

namespace plimsoll {

File File::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) throw InputError("no such file: " + path.string());
  if (descriptor < 0) throw system_failure("cannot open", path.string());
  return File(descriptor, path.string());
}

File File::create(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) throw system_failure("cannot create", path.string());
  return File(descriptor, path.string());
}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

size_t File::read(void* data, size_t bytes) {
  for (;;) {
    const ssize_t got = ::read(descriptor_, data, bytes);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) throw system_failure("cannot read", path_);
  }
}

void File::write(const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = ::write(descriptor_, at, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw system_failure("cannot write", path_);
    at += put;
    bytes -= static_cast<size_t>(put);
  }
}

void File::write_at(int64_t offset, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = ::pwrite(descriptor_, at, bytes, offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw system_failure("cannot write", path_);
    at += put;
    offset += put;
    bytes -= static_cast<size_t>(put);
  }
}

void File::sync() {
  if (::fsync(descriptor_) != 0) throw system_failure("cannot sync", path_);
}

int64_t File::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw system_failure("cannot stat", path_);
  return status.st_size;
}

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path.string()) {
  const File file = File::open(path);
  size_ = static_cast<size_t>(file.size());
  if (size_ == 0) return;
  void* const data = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (data == MAP_FAILED) throw system_failure("cannot map", path_);
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

std::string read_text(const std::filesystem::path& path) {
  File file = File::open(path);
  std::string text(static_cast<size_t>(file.size()), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const size_t got = file.read(text.data() + filled, text.size() - filled);
    if (got == 0) break;
    filled += got;
  }
  text.resize(filled);
  return text;
}

void replace_file(const std::filesystem::path& path, const std::function<void(File&)>& fill) {
  const std::filesystem::path temporary = path.string() + ".tmp." + std::to_string(::getpid());
  File file = File::create(temporary);
  try {
    fill(file);
    file.sync();
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      throw system_failure("cannot rename to", path.string());
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(path.parent_path());
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  replace_file(path, [&](File& file) { file.write(text.data(), text.size()); });
}

void sync_folder(const std::filesystem::path& folder) {
  const std::filesystem::path name = folder.empty() ? std::filesystem::path(".") : folder;
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw system_failure("cannot open folder", name.string());
  const int result = ::fsync(descriptor);
  ::close(descriptor);
  if (result != 0) throw system_failure("cannot sync folder", name.string());
}

}  // namespace plimsoll

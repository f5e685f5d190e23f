#include "io/scratch_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "io/file_system.h"

namespace plimsoll {
namespace {

bool is_memory(const struct statfs& disk) {
  return disk.f_type == TMPFS_MAGIC || disk.f_type == RAMFS_MAGIC;
}

// On file systems without unnamed files (O_TMPFILE), the file is unlinked right after it is made.
int open_without_name(const std::filesystem::path& folder) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string name = (folder / ".packs.XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

bool ScratchFile::is_in_memory(const std::filesystem::path& folder) {
  struct statfs disk {};
  return ::statfs(folder.c_str(), &disk) == 0 && is_memory(disk);
}

int64_t ScratchFile::free_bytes(const std::filesystem::path& folder) {
  struct statfs disk {};
  if (::statfs(folder.c_str(), &disk) != 0 || is_memory(disk)) return 0;
  return static_cast<int64_t>(disk.f_bavail) * disk.f_frsize;  // Blocks have the size of a fragment.
}

int64_t ScratchFile::room(const std::filesystem::path& folder) {
  return free_bytes(folder) / 2 / kAlignment * kAlignment;
}

std::optional<ScratchFile> ScratchFile::make(const std::filesystem::path& folder, int64_t bytes) {
  if (room(folder) < bytes) return std::nullopt;
  const int descriptor = open_without_name(folder);
  if (descriptor < 0) return std::nullopt;
  ScratchFile file(descriptor, bytes, folder.string());
  if (::fallocate(descriptor, 0, 0, bytes) != 0) return std::nullopt;
  // Without O_DIRECT, the file goes through the page cache.
  [[maybe_unused]] const int direct = ::fcntl(descriptor, F_SETFL, O_DIRECT);
  return file;
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(other.bytes_),
      where_(std::move(other.where_)) {}

ScratchFile& ScratchFile::operator=(ScratchFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  std::swap(where_, other.where_);
  return *this;
}

ScratchFile::~ScratchFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ScratchFile::write(int64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t done = ::pwrite(descriptor_, data.data(), data.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      throw file_failure(
          fmt::format("cannot write {} bytes at byte {} of a scratch file in", data.size(), offset), where_);
    data = data.subspan(static_cast<size_t>(done));
    offset += done;
  }
}

void ScratchFile::read(int64_t offset, std::span<std::byte> data) const {
  while (!data.empty()) {
    const ssize_t done = ::pread(descriptor_, data.data(), data.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = EIO;
    if (done <= 0)
      throw file_failure(
          fmt::format("cannot read {} bytes at byte {} of a scratch file in", data.size(), offset), where_);
    data = data.subspan(static_cast<size_t>(done));
    offset += done;
  }
}

}  // namespace plimsoll

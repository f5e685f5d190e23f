#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "io/file_system.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

int as_result(const std::error_code& failed) {
  if (!failed) return 0;
  errno = failed.value();
  return -1;
}

class Disk : public FileSystem {
 public:
  int open(const fs::path& path, Open how) override {
    if (how == Open::read) return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const int created = how == Open::write ? O_TRUNC : O_EXCL;
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | created, 0666);
  }
  int64_t read(int file, void* data, size_t bytes) override { return ::read(file, data, bytes); }
  int64_t write(int file, int64_t offset, const void* data, size_t bytes) override {
    return ::pwrite(file, data, bytes, offset);
  }
  int sync(int file) override { return ::fsync(file); }
  void close(int file) override { ::close(file); }

  bool exists(const fs::path& path) override {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(path, ignored));
  }
  bool is_empty_folder(const fs::path& path) override {
    std::error_code failed;
    return fs::is_directory(path, failed) && fs::is_empty(path, failed) && !failed;
  }
  int make_folder(const fs::path& path) override { return ::mkdir(path.c_str(), 0777); }
  int rename(const fs::path& from, const fs::path& to, Rename how) override {
    const unsigned flags = how == Rename::exchange     ? RENAME_EXCHANGE
                           : how == Rename::no_replace ? RENAME_NOREPLACE
                                                       : 0;
    return flags == 0 ? ::rename(from.c_str(), to.c_str())
                      : ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags);
  }
  int remove_file(const fs::path& path) override { return ::unlink(path.c_str()); }
  int remove_folder(const fs::path& path) override { return ::rmdir(path.c_str()); }
  int remove_tree(const fs::path& path) override {
    std::error_code failed;
    fs::remove_all(path, failed);
    return as_result(failed);
  }
  int sync_folder(const fs::path& path) override {
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return -1;
    const int result = ::fsync(folder);
    const int error = errno;
    ::close(folder);
    errno = error;
    return result;
  }
};

}  // namespace

FileSystem& FileSystem::disk() {
  static Disk disk;
  return disk;
}

}  // namespace plimsoll

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "io/file_system.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

int refuse(int error) {
  errno = error;
  return -1;
}

int as_result(const std::error_code& failed) {
  return failed ? refuse(failed.value()) : 0;
}

// Network file systems send locks of files to the server, but keep locks of folders on each machine.
bool is_of_this_machine(int file) {
  constexpr std::array<int64_t, 7> kLocal = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
                                             TMPFS_MAGIC,      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                             0x2FC12FC1 /* ZFS */};
  struct statfs at {};
  return ::fstatfs(file, &at) == 0 &&
         std::ranges::any_of(kLocal, [&](int64_t magic) { return at.f_type == magic; });
}

class Disk : public FileSystem {
 public:
  int open(const fs::path& path, Open how) override {
    if (how == Open::read) return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const int created = how == Open::write ? O_TRUNC : how == Open::write_new ? O_EXCL : 0;
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | created, 0666);
  }
  int64_t read(int file, void* data, size_t bytes) override { return ::read(file, data, bytes); }
  int64_t write(int file, int64_t offset, const void* data, size_t bytes) override {
    return ::pwrite(file, data, bytes, offset);
  }
  int sync(int file) override { return ::fsync(file); }
  void close(int file) override { ::close(file); }
  int lock(int file, const fs::path& path) override {
    struct stat opened {
    }, named{};
    if (::fstat(file, &opened) != 0) return -1;
    if (S_ISDIR(opened.st_mode) && !is_of_this_machine(file)) return refuse(EOPNOTSUPP);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) return -1;
    const bool same =
        ::lstat(path.c_str(), &named) == 0 && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
    return same ? 0 : refuse(ESTALE);
  }

  bool exists(const fs::path& path) override {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(path, ignored));
  }
  std::optional<std::vector<std::string>> names_in(const fs::path& path) override {
    std::error_code failed;
    std::vector<std::string> names;
    for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed))
      names.push_back(at->path().filename().string());
    if (failed) return std::nullopt;
    return names;
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
  // Catches bad_alloc: destructors call it, and it allocates a name for each file that it finds.
  int remove_tree(const fs::path& path) override {
    try {
      std::error_code failed;
      fs::remove_all(path, failed);
      return as_result(failed);
    } catch (const std::bad_alloc&) {
      return refuse(ENOMEM);
    }
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

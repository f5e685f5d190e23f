#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/file.h"

namespace plimsoll {

/// The right to write into the folder of a run, for one trainer at a time. It is the advisory lock (flock) of
/// RUN/run.lock, which contains the process and its machine. The system releases the lock when the process
/// ends, however it ends; the destructor also removes the file. If the file system has no locks, a warning is
/// printed to stderr, and there is no lock. Not thread-safe.
class RunLock {
 public:
  static constexpr const char* kName = "run.lock";

  /// `root` must be an existing folder. Errors: Failure, which names the process that holds the lock.
  explicit RunLock(std::filesystem::path root, FileSystem& files = FileSystem::disk());
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  /// Call it after the folder was renamed; the lock stays with the folder.
  void renamed(std::filesystem::path root) { root_ = std::move(root); }

 private:
  bool lock(File& file) const;

  FileSystem& files_;
  std::filesystem::path root_;
  std::optional<File> file_;
};

/// Returns "process 1234 on NAME" if a process holds the lock of the run in `root`, as far as this can be
/// found out.
std::optional<std::string> holder_of_run(const std::filesystem::path& root,
                                         FileSystem& files = FileSystem::disk());

/// Throws Failure, which names the process that holds the lock, if there is one.
void require_no_trainer(const std::filesystem::path& root, FileSystem& files = FileSystem::disk());

}  // namespace plimsoll

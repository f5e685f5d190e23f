#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/file.h"

namespace plimsoll {

/// A lock that lets one trainer at a time write into the folder of a run. It is an advisory lock (flock) on
/// RUN/run.lock, a file that names the process and its machine. The system releases the lock when the process
/// ends, however it ends; the destructor also removes the file. If the file system does not support locks, a
/// warning is printed to stderr, and the folder is not locked. Not thread-safe.
class RunLock {
 public:
  static constexpr const char* kName = "run.lock";

  /// `root` must be an existing folder. Waits up to 0.1 s for another process to release the lock. Errors:
  /// Failure, which names the process that holds the lock, or the file that cannot be opened or written.
  explicit RunLock(std::filesystem::path root, FileSystem& files = FileSystem::disk());
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  /// Records the new name of the folder. Call it after renaming the folder; the lock is kept.
  void renamed(std::filesystem::path root) { root_ = std::move(root); }

 private:
  bool lock(File& file) const;

  FileSystem& files_;
  std::filesystem::path root_;
  std::optional<File> file_;
};

/// Returns a text such as "process 1234 on NAME" if a process holds the lock of the run in `root`; nullopt if
/// none does, or if the lock cannot be checked.
std::optional<std::string> holder_of_run(const std::filesystem::path& root,
                                         FileSystem& files = FileSystem::disk());

/// Throws Failure if a process holds the lock; the message names the process.
void require_no_trainer(const std::filesystem::path& root, FileSystem& files = FileSystem::disk());

}  // namespace plimsoll

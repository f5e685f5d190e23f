#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/file.h"

namespace plimsoll {

/// The right to write into the folder of a run, for one trainer at a time: the advisory lock (flock) of
/// RUN/run.lock, where it says which process of which machine it is. The system gives the lock back when the
/// process ends, however it ends; the destructor removes the file as well. Where the file system keeps no
/// locks, stderr is told and there is none. Not thread-safe.
class RunLock {
 public:
  static constexpr const char* kName = "run.lock";

  /// `root` is a folder that is there. Errors: Failure, which names the process that has the lock.
  explicit RunLock(std::filesystem::path root, FileSystem& files = FileSystem::disk());
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  /// The folder has another name now, and the lock stays with it.
  void renamed(std::filesystem::path root) { root_ = std::move(root); }

 private:
  bool lock(File& file) const;

  FileSystem& files_;
  std::filesystem::path root_;
  std::optional<File> file_;
};

/// "process 1234 on NAME" while one has the lock of the run in `root`, as far as that can be told.
std::optional<std::string> holder_of_run(const std::filesystem::path& root,
                                         FileSystem& files = FileSystem::disk());

/// Errors: Failure, which names that process.
void require_no_trainer(const std::filesystem::path& root, FileSystem& files = FileSystem::disk());

}  // namespace plimsoll

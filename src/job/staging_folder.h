#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "io/file.h"

namespace plimsoll {

/// Paths of the copy of one data set below a root, and of the files used while it is made.
struct CopyPlace {
  std::filesystem::path root;
  std::string name;  ///< NAME-XXXXXXXXXXXXXXXX.

  std::filesystem::path whole() const { return root / name; }
  std::filesystem::path part() const { return root / ("." + name + ".part"); }
  /// Contains the boot ID of the machine that made the copy without syncing it.
  std::filesystem::path boot() const { return root / ("." + name + ".boot"); }
  std::filesystem::path lock() const { return root / ("." + name + ".lock"); }
};

/// Returns the suffix of the names of a data set's copies: a hyphen and the XXH3-64 of its manifest.json, 16
/// hex digits. Errors: InputError if `data` has no manifest.json.
std::string ending_of_copies(const std::filesystem::path& data, FileSystem& files = FileSystem::disk());

/// Returns the paths for a data set. `data` may itself be a copy; its name then stays the same. Errors:
/// InputError if `data` has no manifest.json.
CopyPlace copy_place(const std::filesystem::path& data, const std::filesystem::path& root);

/// Returns an ID that changes when this machine restarts; empty if it is unknown, or if `folder` is on a file
/// system that other machines share.
std::string boot_id(const std::filesystem::path& folder, FileSystem& files = FileSystem::disk());

/// Returns whether the bytes of an existing copy cannot have been lost: either they are synced, or the
/// machine has not restarted since they were written.
bool is_copy_reliable(const CopyPlace& place, FileSystem& files = FileSystem::disk());

/// The right to write a copy, for one process at a time. It is the advisory lock of CopyPlace::lock(), which
/// ends with this object or the process. The destructor also deletes that file. Not thread-safe.
class CopyLock {
 public:
  explicit CopyLock(const CopyPlace& place, FileSystem& files = FileSystem::disk());
  ~CopyLock();
  CopyLock(const CopyLock&) = delete;
  CopyLock& operator=(const CopyLock&) = delete;

  /// Tries to take the lock, without waiting. Returns false if another process has it, and true if the file
  /// system has no such lock; see excludes_others(). Errors: Failure.
  bool try_lock();
  /// Whether the file system has locks that all processes see; known once try_lock() has returned true. If
  /// not, another process may be writing, too.
  bool excludes_others() const { return excludes_; }

 private:
  FileSystem& files_;
  std::filesystem::path path_;
  std::optional<File> file_;
  bool excludes_ = true;
};

}  // namespace plimsoll

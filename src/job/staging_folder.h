#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "io/file.h"

namespace plimsoll {

/// Paths of the copy of one data set below a root, and of its files while it is made.
struct CopyPlace {
  std::filesystem::path root;
  std::string name;  ///< NAME-XXXXXXXXXXXXXXXX.

  std::filesystem::path whole() const { return root / name; }
  std::filesystem::path part() const { return root / ("." + name + ".part"); }
  /// Holds the boot ID of the machine that made the copy without syncing it.
  std::filesystem::path boot() const { return root / ("." + name + ".boot"); }
  std::filesystem::path lock() const { return root / ("." + name + ".lock"); }
};

/// Returns the ending of the names of a data set's copies: a hyphen and the XXH3-64 of its manifest.json, 16
/// hex digits. Errors: InputError if `data` has no manifest.json.
std::string ending_of_copies(const std::filesystem::path& data, FileSystem& files = FileSystem::disk());

/// Returns the place of a data set. Errors: InputError if `data` has no manifest.json.
CopyPlace copy_place(const std::filesystem::path& data, const std::filesystem::path& root);

/// Returns an ID of the time since this machine started; empty if it is unknown, or if `folder` is on a file
/// system that other machines see.
std::string boot_id(const std::filesystem::path& folder, FileSystem& files = FileSystem::disk());

/// Returns whether the bytes of an existing copy cannot have been lost: they are synced, or the machine has
/// not restarted since they were written.
bool is_copy_reliable(const CopyPlace& place, FileSystem& files = FileSystem::disk());

/// The right to write a copy, for one process at a time. It is the advisory lock of CopyPlace::lock(), which
/// ends with the process. Not thread-safe.
class CopyLock {
 public:
  explicit CopyLock(const CopyPlace& place, FileSystem& files = FileSystem::disk());
  ~CopyLock();
  CopyLock(const CopyLock&) = delete;
  CopyLock& operator=(const CopyLock&) = delete;

  /// Never waits. Returns false if another process has the lock. Errors: Failure.
  bool try_lock();
  /// False if this file system has no locks that all see, so that another process may be writing too.
  bool excludes_others() const { return excludes_; }

 private:
  FileSystem& files_;
  std::filesystem::path path_;
  std::optional<File> file_;
  bool excludes_ = true;
};

}  // namespace plimsoll

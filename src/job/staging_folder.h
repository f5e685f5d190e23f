#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "io/file.h"

namespace plimsoll {

/// Where the copy of one data set stands below a root, and while it is made.
struct CopyPlace {
  std::filesystem::path root;
  std::string name;  ///< NAME-XXXXXXXXXXXXXXXX

  std::filesystem::path whole() const { return root / name; }
  std::filesystem::path part() const { return root / ("." + name + ".part"); }
  /// Holds the boot of the machine that made the copy without syncing it.
  std::filesystem::path boot() const { return root / ("." + name + ".boot"); }
  std::filesystem::path lock() const { return root / ("." + name + ".lock"); }
};

/// What the names of a data set's copies end in: a hyphen and the XXH3-64 of its manifest.json, 16 hex
/// digits. Errors: InputError where `data` has no manifest.json.
std::string ending_of_copies(const std::filesystem::path& data, FileSystem& files = FileSystem::disk());

/// The place of a data set. Errors: InputError where `data` has no manifest.json.
CopyPlace copy_place(const std::filesystem::path& data, const std::filesystem::path& root);

/// What names the time from one start of this machine to the next; empty where it is not known, or where
/// `folder` is of a file system that other machines see.
std::string boot_of(const std::filesystem::path& folder, FileSystem& files = FileSystem::disk());

/// Whether all bytes of a copy that has its name are sure to be there: they are synced, or the machine has
/// run ever since they were written.
bool is_sure(const CopyPlace& place, FileSystem& files = FileSystem::disk());

/// The right to write a copy, for one process at a time: the advisory lock of CopyPlace::lock(), which goes
/// with the process. Not thread-safe.
class CopyLock {
 public:
  explicit CopyLock(const CopyPlace& place, FileSystem& files = FileSystem::disk());
  ~CopyLock();
  CopyLock(const CopyLock&) = delete;
  CopyLock& operator=(const CopyLock&) = delete;

  /// Never waits. False: another process has it. Errors: Failure.
  bool try_lock();
  /// False: this file system has no locks that all see, so that another process may be writing too.
  bool excludes_others() const { return excludes_; }

 private:
  FileSystem& files_;
  std::filesystem::path path_;
  std::optional<File> file_;
  bool excludes_ = true;
};

}  // namespace plimsoll

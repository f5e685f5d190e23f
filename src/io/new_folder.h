#pragma once

#include <filesystem>
#include <vector>

#include "io/file_system.h"

namespace plimsoll {

/// A folder that appears whole or not at all. It is filled under a temporary name next to its final path;
/// publish() syncs and renames it. Without publish() the destructor removes it and the parent folders made
/// for it. Callers must sync the files they write in it. The next process that makes a folder of the same
/// name removes a temporary folder left by a killed process, but only on local file systems: on a network
/// file system, another machine might still be filling it. Not thread-safe. Errors: Failure.
class NewFolder {
 public:
  /// If `replace` is set, publish() atomically exchanges the new folder with an existing folder that
  /// require_replaceable() allows to be deleted, and then deletes the old one.
  NewFolder(const std::filesystem::path& folder, bool replace, FileSystem& files = FileSystem::disk());
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& name() const { return folder_; }     ///< Final name of the folder.
  const std::filesystem::path& path() const { return temporary_; }  ///< Path until it is published.
  FileSystem& files() const { return files_; }
  /// Makes a subfolder unless it exists. Returns the path that it has until publish().
  std::filesystem::path add_folder(const std::filesystem::path& name);
  /// Publishes the folder; call it once. Errors: Failure, also if the name exists and must not be replaced.
  /// After an error, the old folder is still in place, or is kept under a temporary name. If only the
  /// deletion of the old folder fails, the new folder is in place, and the error names the old one.
  void publish();

 private:
  void remove_abandoned();
  bool make_temporary();
  void rename_to_name(bool exchange);

  FileSystem& files_;
  std::filesystem::path folder_;
  std::filesystem::path temporary_;
  int lock_ = -1;  // The opened temporary folder. Its lock shows that this process is alive.
  bool replace_;
  bool published_ = false;
  std::vector<std::filesystem::path> around_;  // Parent folders made for it.
  std::vector<std::filesystem::path> inside_;
};

}  // namespace plimsoll

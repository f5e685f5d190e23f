#pragma once

#include <filesystem>
#include <vector>

#include "io/file_system.h"

namespace plimsoll {

/// A folder that appears whole or not at all: it is filled under a temporary name beside its own, and
/// publish() syncs and renames it. Without publish() the destructor removes it and the folders made to hold
/// it. Files in it must be synced by who writes them. What a process that was killed left under such a name
/// is removed by the next that makes a folder of the same name, on file systems of this machine; on those of
/// a network nobody can tell whether another machine still fills it. Not thread-safe. Errors: Failure.
class NewFolder {
 public:
  /// `replace` lets publish() exchange what has the name atomically and then delete that.
  NewFolder(const std::filesystem::path& folder, bool replace, FileSystem& files = FileSystem::disk());
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& name() const { return folder_; }     ///< as it will be called
  const std::filesystem::path& path() const { return temporary_; }  ///< where it is until published
  FileSystem& files() const { return files_; }
  /// A folder in it, which may be there already; returns where it is until published.
  std::filesystem::path add_folder(const std::filesystem::path& name);
  /// Errors also when the name is taken and is not to be replaced. After an error all is as it was before, or
  /// can be made so: an old folder that cannot be deleted is named, or lies under the temporary name.
  void publish();

 private:
  void remove_abandoned();
  bool make_temporary();
  void rename_to_name(bool exchange);

  FileSystem& files_;
  std::filesystem::path folder_;
  std::filesystem::path temporary_;
  int lock_ = -1;  // the temporary folder, open: its lock says that this process lives
  bool replace_;
  bool published_ = false;
  std::vector<std::filesystem::path> around_;  // made to hold it
  std::vector<std::filesystem::path> inside_;
};

}  // namespace plimsoll

#pragma once

#include <filesystem>

namespace plimsoll {

/// A folder that appears whole or not at all: it is filled under a temporary name beside its own, and
/// publish() syncs and renames it. Without publish() the destructor removes it. Not thread-safe. Errors:
/// Failure.
class NewFolder {
 public:
  /// `replace` lets publish() exchange an existing folder atomically and then delete the old one.
  NewFolder(const std::filesystem::path& folder, bool replace);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& name() const { return folder_; }     ///< as it will be called
  const std::filesystem::path& path() const { return temporary_; }  ///< where it is until published
  /// Errors also when the folder exists and is not to be replaced.
  void publish();

 private:
  std::filesystem::path folder_;
  std::filesystem::path temporary_;
  bool replace_;
  bool published_ = false;
};

}  // namespace plimsoll

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace plimsoll {

/// The system calls with which files are read, written and published. A test can replace them. They behave
/// like system calls: on failure they return -1 and set errno. None throws.
class FileSystem {
 public:
  /// write: truncate or create; write_new: create, EEXIST if it exists; update: keep the content, create if
  /// missing.
  enum class Open { read, write, write_new, update };
  enum class Rename { replace, no_replace, exchange };  ///< no_replace: EEXIST if the new name exists.

  /// The file systems of this machine. Thread-safe.
  static FileSystem& disk();
  virtual ~FileSystem() = default;

  /// Returns a descriptor, which the caller closes.
  virtual int open(const std::filesystem::path& path, Open how) = 0;
  /// Reads up to `bytes` bytes from where the last read ended. Returns their number, 0 at the end.
  virtual int64_t read(int file, void* data, size_t bytes) = 0;
  /// Returns the number of bytes written, which may be less than `bytes`.
  virtual int64_t write(int file, int64_t offset, const void* data, size_t bytes) = 0;
  virtual int sync(int file) = 0;
  virtual void close(int file) = 0;
  /// Takes the advisory lock (flock) on the file or folder that was opened as `path`, for as long as it is
  /// open. Never waits. EWOULDBLOCK: another open file has the lock. ESTALE: `path` no longer names this
  /// file. Other errors: the file system has no lock that is visible to all processes with access to the
  /// file, as for folders on network file systems.
  virtual int lock(int file, const std::filesystem::path& path) = 0;

  /// Returns whether the name exists, even if it is a dangling link.
  virtual bool exists(const std::filesystem::path& path) = 0;
  /// Returns the names in a folder, in no order, or nullopt if it is not a readable folder.
  virtual std::optional<std::vector<std::string>> names_in(const std::filesystem::path& path) = 0;
  virtual int make_folder(const std::filesystem::path& path) = 0;
  virtual int rename(const std::filesystem::path& from, const std::filesystem::path& to, Rename how) = 0;
  virtual int remove_file(const std::filesystem::path& path) = 0;
  virtual int remove_folder(const std::filesystem::path& path) = 0;  ///< Removes an empty folder.
  /// Removes a file or folder with all its content. Also returns 0 if `path` does not exist.
  virtual int remove_tree(const std::filesystem::path& path) = 0;
  virtual int sync_folder(const std::filesystem::path& path) = 0;
};

/// Returns a Failure for the call that has just failed: "WHAT PATH: REASON", with the remedy if one is known.
Failure file_failure(const std::string& what, const std::filesystem::path& path);

/// Syncs a folder, so that the names in it survive a power failure; the current one if `folder` is empty.
/// Does nothing on a file system that cannot sync folders. Errors: Failure.
void sync_folder(const std::filesystem::path& folder, FileSystem& files = FileSystem::disk());

/// Makes a folder and its missing parents and syncs them. Returns the folders it made, the outermost first.
/// Errors: Failure, after removing those it made.
std::vector<std::filesystem::path> make_folders(const std::filesystem::path& folder,
                                                FileSystem& files = FileSystem::disk());
/// Removes those folders made by make_folders() that are empty.
void remove_folders(const std::vector<std::filesystem::path>& made, FileSystem& files);

/// Renames as Rename::no_replace does, even on file systems without that call (some network file systems). On
/// these, another process may take the name between the check and the rename. Returns 0, or -1 and sets
/// errno, EEXIST if the new name exists.
int rename_to_free(const std::filesystem::path& from, const std::filesystem::path& to, FileSystem& files);

/// Calls `make` to create a file or folder next to `path` under a hidden name, .NAME.TAG.PID, and returns the
/// name. If a process on another machine or in another container uses that name, or a killed process left it
/// behind, a number is appended. `make` reports errors like the members of FileSystem. Errors: Failure.
std::filesystem::path make_beside(const std::filesystem::path& path, const char* tag,
                                  const std::function<int(const std::filesystem::path&)>& make);

}  // namespace plimsoll

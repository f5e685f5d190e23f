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

/// The calls to a file system that files are read, written and published with, so that a test can put another
/// one in its place. They behave as the system calls do: one that fails gives -1 and sets errno; none throws.
class FileSystem {
 public:
  /// write: from nothing; write_new: EEXIST if it is there; update: as it is, made if it is not there.
  enum class Open { read, write, write_new, update };
  enum class Rename { replace, no_replace, exchange };  ///< no_replace: EEXIST if the new name is taken

  /// The file systems of this machine; for any number of threads at once.
  static FileSystem& disk();
  virtual ~FileSystem() = default;

  /// A descriptor, to be closed.
  virtual int open(const std::filesystem::path& path, Open how) = 0;
  /// The bytes read, up to `bytes`, from where the last read ended; 0 at the end.
  virtual int64_t read(int file, void* data, size_t bytes) = 0;
  /// The bytes written, which may be fewer than `bytes`.
  virtual int64_t write(int file, int64_t offset, const void* data, size_t bytes) = 0;
  virtual int sync(int file) = 0;
  virtual void close(int file) = 0;
  /// Takes the advisory lock (flock) of the file or folder that was opened as `path`, for as long as it is
  /// open; never waits. EWOULDBLOCK: another open file has it. ESTALE: `path` names it no more. Others: there
  /// is no lock that all see who can open it, as of a folder on a network's file system.
  virtual int lock(int file, const std::filesystem::path& path) = 0;

  /// Whether there is such a name, be it that of a link to nothing.
  virtual bool exists(const std::filesystem::path& path) = 0;
  /// What is in a folder, in no order; nothing if it is no folder that can be read.
  virtual std::optional<std::vector<std::string>> names_in(const std::filesystem::path& path) = 0;
  virtual int make_folder(const std::filesystem::path& path) = 0;
  virtual int rename(const std::filesystem::path& from, const std::filesystem::path& to, Rename how) = 0;
  virtual int remove_file(const std::filesystem::path& path) = 0;
  virtual int remove_folder(const std::filesystem::path& path) = 0;  ///< an empty one
  virtual int remove_tree(const std::filesystem::path& path) = 0;    ///< 0 also where nothing is
  virtual int sync_folder(const std::filesystem::path& path) = 0;
};

/// A Failure for the call that has just failed: "WHAT PATH: REASON", and the remedy where one is known.
Failure file_failure(const std::string& what, const std::filesystem::path& path);

/// Makes names in a folder last. Errors: Failure.
void sync_folder(const std::filesystem::path& folder, FileSystem& files = FileSystem::disk());

/// Makes a folder and those it lies in, as far as they are missing, and makes them last. Returns those that
/// it made, the outermost first. Errors: Failure; nothing is left of them then.
std::vector<std::filesystem::path> make_folders(const std::filesystem::path& folder,
                                                FileSystem& files = FileSystem::disk());
/// Removes what make_folders() made, as far as it is empty.
void remove_folders(const std::vector<std::filesystem::path>& made, FileSystem& files);

/// Rename::no_replace, also on file systems that cannot rename so (some of network): there another process
/// can still take the name in between.
int rename_to_free(const std::filesystem::path& from, const std::filesystem::path& to, FileSystem& files);

/// Has `make` make something beside `path` under a hidden name, .NAME.TAG.PID, which it returns. Where that
/// is taken, by a process of another machine or container or one that was killed, a number is added. `make`
/// returns as FileSystem's members do. Errors: Failure.
std::filesystem::path make_beside(const std::filesystem::path& path, const char* tag,
                                  const std::function<int(const std::filesystem::path&)>& make);

}  // namespace plimsoll

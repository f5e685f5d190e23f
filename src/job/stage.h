#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/file_system.h"

namespace plimsoll {

/// Returns the folder for copies of data sets, PLIMSOLL_CACHE, or nullopt if the variable is not set.
std::optional<std::filesystem::path> staging_root();

/// Returns the folder that `--to scratch` names: PLIMSOLL_CACHE, otherwise `plimsoll` below SLURM_TMPDIR,
/// TMPDIR or /tmp, whichever is set first.
std::filesystem::path scratch_root();

/// Returns whether a folder, or its nearest existing parent, is in memory (tmpfs), which counts against a
/// job's memory limit.
bool lies_in_memory(std::filesystem::path folder);

/// What stage() copies, and where.
struct StageRequest {
  std::filesystem::path data;  ///< A data set.
  std::filesystem::path root;  ///< Created if it is missing.
  bool verify_all = false;     ///< Compare the checksums of an existing copy.
  /// Called after each chunk with the bytes copied so far and the total; repeatedly with (0, total) while
  /// another process copies. The bytes fall if a column is copied again. Called on other threads, one call at
  /// a time. It may throw to stop. After an error other than Failure and InputError, the copied bytes are
  /// kept if the root supports locks, and the next call continues after them.
  std::function<void(int64_t, int64_t)> progress = [](int64_t, int64_t) {};
  /// Called with a sentence for the user, for example about a wait.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// Returns the bytes that may still be written below the root. If empty, the free space of the file system
  /// is used.
  std::function<int64_t()> free_bytes = {};
  FileSystem& files = FileSystem::disk();
};

/// Result of stage().
struct Staged {
  /// ROOT/NAME-XXXXXXXXXXXXXXXX, where X is XXH3-64 of the set's manifest.json.
  std::filesystem::path folder;
  int64_t bytes = 0;    ///< Bytes of all files of the copy.
  int64_t copied = 0;   ///< Bytes written by this call; 0 if an equal copy existed.
  int64_t resumed = 0;  ///< Bytes that an earlier call had copied.
};

/// Copies a data set below the root, unless an equal copy exists. All bytes are compared with the checksums
/// of the manifest as they are copied. The copy appears whole or not at all. An existing copy in which a
/// fault is found is deleted first. One process copies and the others wait for it, if the file system has
/// locks that all of them see. Errors: InputError for a damaged set, and Failure, for example if too few
/// bytes are free; both remove what was copied, also by an earlier call that was stopped. Also
/// BudgetExceeded, ThreadRefused, and those of `progress`.
Staged stage(const StageRequest& request);

/// Returns the copy of a data set below a root if it is complete and its bytes cannot have been lost
/// (is_copy_reliable()), otherwise nullopt. Checksums are not compared. Errors: InputError if `data` is not a
/// data set.
std::optional<std::filesystem::path> staged_copy(const std::filesystem::path& data,
                                                 const std::filesystem::path& root,
                                                 FileSystem& files = FileSystem::disk());

/// Returns the folder that a verb reads for `data`: the copy below PLIMSOLL_CACHE, which is reported on
/// stderr, otherwise `data`. Errors: those of staged_copy(), if PLIMSOLL_CACHE is set.
std::filesystem::path nearest_copy(const std::filesystem::path& data);

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/file_system.h"

namespace plimsoll {

/// Where copies of data sets lie: the folder that PLIMSOLL_CACHE names. None: the variable is not set.
std::optional<std::filesystem::path> staging_root();

/// The root that the word `scratch` stands for: PLIMSOLL_CACHE, else `plimsoll` below SLURM_TMPDIR, TMPDIR or
/// /tmp, whichever is set first.
std::filesystem::path scratch_root();

/// Whether a folder, or the nearest above it that is there, lies in memory (tmpfs), which a job's limit
/// counts.
bool lies_in_memory(std::filesystem::path folder);

struct StageRequest {
  std::filesystem::path data;  ///< a data set
  std::filesystem::path root;  ///< made where it is missing
  bool verify_all = false;     ///< a copy that is there has its checksums checked
  /// Bytes copied and in all, after each piece; while another process copies, (0, all) now and then. May
  /// throw to end it: what is copied stays, and the next call goes on from there. Called on other threads,
  /// one at a time.
  std::function<void(int64_t, int64_t)> progress = [](int64_t, int64_t) {};
  /// A sentence for people, such as whom it waits for.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// Bytes that may still be written below the root; none: as the file system says.
  std::function<int64_t()> free_bytes = {};
  FileSystem& files = FileSystem::disk();
};

struct Staged {
  std::filesystem::path folder;  ///< ROOT/NAME-XXXXXXXXXXXXXXXX; X is XXH3-64 of the set's manifest.json
  int64_t bytes = 0;             ///< of all its files
  int64_t copied = 0;            ///< bytes written by this call; 0: the copy was there
  int64_t resumed = 0;           ///< bytes that an earlier call had left
};

/// Copies a data set below the root, unless an equal one is there. All bytes are compared with the checksums
/// of the manifest as they are copied. The copy appears whole or not at all; one process copies, others wait
/// for it, if the file system has locks that all of them see. Errors: InputError for a set that is damaged;
/// Failure, among others where fewer bytes are free than are needed; nothing is written then.
Staged stage(const StageRequest& request);

/// The copy of a data set below a root, if it is whole. Errors: InputError where `data` is no data set.
std::optional<std::filesystem::path> staged_copy(const std::filesystem::path& data,
                                                 const std::filesystem::path& root,
                                                 FileSystem& files = FileSystem::disk());

/// What a verb reads for `data`: the copy below PLIMSOLL_CACHE, which stderr is told of, else `data`.
std::filesystem::path nearest_copy(const std::filesystem::path& data);

}  // namespace plimsoll

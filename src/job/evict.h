#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/file_system.h"

namespace plimsoll {

/// A copy that was deleted, whole or in part.
struct Evicted {
  std::string name;
  int64_t bytes = 0;  ///< Bytes of its files.
};

/// Result of evict().
struct Eviction {
  std::vector<Evicted> deleted;
  /// Names in the root that look like those of copies or their parts, but belong to other files.
  std::vector<std::string> left;
};

/// Deletes copies below the root that stage() made: those of `data`, or all if it is empty. A copy that a
/// process is making is kept. A folder named like a copy is deleted only if its manifest.json has the hash in
/// its name, if it has a boot file (a machine that stopped may have left it), or if it is the copy of `data`.
/// Errors: Failure; InputError if `data` is not a data set.
Eviction evict(const std::filesystem::path& data, const std::filesystem::path& root,
               FileSystem& files = FileSystem::disk());

}  // namespace plimsoll

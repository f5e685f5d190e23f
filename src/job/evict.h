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
  int64_t bytes = 0;
};

struct Eviction {
  std::vector<Evicted> deleted;
  std::vector<std::string>
      left;  ///< entries of the root that have the name of a copy, or a part, and are none
};

/// Deletes copies below the root that stage() made: those of `data`, or all where it is empty. One that a
/// process is making is left. What has the name of a copy is deleted only if its manifest.json has the hash
/// in that name; also, as what a stopped machine left, if a boot file of the copy is there, and for `data`.
/// Errors: Failure; InputError where `data` is no data set.
Eviction evict(const std::filesystem::path& data, const std::filesystem::path& root,
               FileSystem& files = FileSystem::disk());

}  // namespace plimsoll

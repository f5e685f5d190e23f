#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/json.h"

namespace plimsoll {

/// A data set that is shard `number` of `shards` of another data set.
struct ShardFolder {
  std::filesystem::path folder;
  int64_t number = 0;
  int64_t shards = 0;
  Json provenance = {};  ///< Its "options" include "shard".
  /// Entries that all shards of a set have in common: "kind", "tool", "options", "all", "of".
  Json common = {};
};

/// Returns all shards of one set, sorted by number; `folders` may be in any order. Only manifests are read.
/// Errors: InputError that names the shard, if it is missing, given twice, part of another set, or not a
/// shard; UsageError (no folders); those of read_manifest().
std::vector<ShardFolder> open_shards(const std::vector<std::filesystem::path>& folders);

}  // namespace plimsoll

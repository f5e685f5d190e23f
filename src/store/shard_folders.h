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
  Json provenance = {};  ///< Includes "shard".
  /// Entries that all shards of a set have in common: "kind", "tool", "options", "all", "of".
  Json common = {};
};

/// Returns all shards of one set in their order, from folders in any order. Only manifests are read. Errors:
/// InputError that names the shard: missing, given twice, of another set, not a shard; UsageError (none
/// given).
std::vector<ShardFolder> open_shards(const std::vector<std::filesystem::path>& folders);

}  // namespace plimsoll

#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "store/data_set.h"

namespace plimsoll {

struct MergeRequest {
  std::vector<std::filesystem::path> shards = {};  ///< in any order
  std::filesystem::path out = {};
  bool force = false;  ///< replace an existing output
  /// Bytes of columns read and in all; may throw to end it. Each byte is read twice: to check it, and to
  /// copy it.
  std::function<void(int64_t, int64_t)> progress = [](int64_t, int64_t) {};
  FileSystem& files = FileSystem::disk();
};

struct Merged {
  bool already_there = false;  ///< the output held just this: nothing was done
  std::string kind;
  int64_t rows = 0;   ///< frames, graphs or edges
  int64_t bytes = 0;  ///< of columns
};

/// Makes of the shards of one `frames` or `graph_set` the set that a single process would have made, byte for
/// byte. Their checksums are compared first. Errors: InputError, which names the shard: missing, given twice,
/// of another set, damaged, no shard; Failure (disk; the output exists).
Merged merge_shards(const MergeRequest& request);

}  // namespace plimsoll

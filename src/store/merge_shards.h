#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "store/data_set.h"
#include "store/shard_folders.h"

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

/// Makes of the shards of one data set the set that a single process would have made, byte for byte, as their
/// kind does it (store/data_kind.h). Their checksums are compared first. Errors: InputError, which names the
/// shard: missing, given twice, of another set, damaged, no shard, of a kind that has no shards; Failure
/// (disk; the output exists).
Merged merge_shards(const MergeRequest& request);

/// The merge of a kind whose shards hold consecutive rows. Not thread-safe.
class RowMerge {
 public:
  /// `own_sources`: each shard was made from sources of its own, and the whole from all of them. Errors:
  /// those of open_shards().
  RowMerge(const MergeRequest& request, bool own_sources);

  const std::vector<ShardFolder>& shards() const { return shards_; }
  /// Whether the output is there already, made from the same.
  bool is_done() const { return merged_.already_there; }
  /// All sets that will be read; checks their columns. Errors: InputError.
  void check(const std::vector<const DataSetView*>& sets);
  /// So many more bytes were copied.
  void add(int64_t bytes) { request_.progress(done_ += bytes, 2 * merged_.bytes); }
  Json take_provenance() { return std::move(provenance_); }
  /// What merge_shards() gives, for a set of so many rows.
  Merged result(int64_t rows);

 private:
  const MergeRequest& request_;
  std::vector<ShardFolder> shards_;
  Json provenance_;
  Merged merged_;
  int64_t done_ = 0;
};

/// The bytes of all columns.
int64_t column_bytes(const DataSetView& set);

}  // namespace plimsoll

#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "store/data_set.h"
#include "store/shard_folders.h"

namespace plimsoll {

/// What merge_shards() merges, and where.
struct MergeRequest {
  std::vector<std::filesystem::path> shards = {};  ///< In any order.
  std::filesystem::path out = {};
  bool force = false;  ///< Replace an existing output.
  /// Called with the bytes of columns read so far and the total; may throw to stop. Each byte is counted
  /// twice, because it is read once to be checked and once to be copied.
  std::function<void(int64_t, int64_t)> progress = [](int64_t, int64_t) {};
  FileSystem& files = FileSystem::disk();
};

/// Result of merge_shards().
struct Merged {
  /// Whether the output already existed with the same provenance, so that nothing was done.
  bool already_there = false;
  std::string kind;
  int64_t rows = 0;   ///< Graphs, edges or other rows; 0 if nothing was done.
  int64_t bytes = 0;  ///< Bytes of all columns of the shards; 0 if nothing was done.
};

/// Merges the shards of one data set, using the operation of their kind (store/data_kind.h). The result is
/// byte for byte the set that a single process would have made. The checksums of the shards are verified
/// first. Errors: InputError that names the shard, if it is missing, given twice, part of another set,
/// damaged, not a shard, or of a kind without shards; UsageError (no shards); Failure (disk; the output
/// exists); BudgetExceeded; those of `progress`.
Merged merge_shards(const MergeRequest& request);

/// The merge for a kind whose shards hold consecutive rows. Not thread-safe.
class RowMerge {
 public:
  /// `own_sources` is true if each shard was made from different sources; the sources of the merged set are
  /// then those of all shards. `request` must outlive this object. Errors: those of open_shards() and
  /// is_made_already().
  RowMerge(const MergeRequest& request, bool own_sources);

  const std::vector<ShardFolder>& shards() const { return shards_; }
  /// Whether the output already exists with the same provenance.
  bool is_done() const { return merged_.already_there; }
  /// Compares the checksums of all sets that will be read, and adds their bytes to the total of `progress`.
  /// Call it once, before add(). Errors: those of check_columns().
  void check(const std::vector<const DataSetView*>& sets);
  /// Reports that another `bytes` bytes were copied.
  void add(int64_t bytes) { request_.progress(done_ += bytes, 2 * merged_.bytes); }
  /// Returns the provenance of the merged set, once.
  Json take_provenance() { return std::move(provenance_); }
  /// Returns the result of merge_shards() for a set of `rows` rows.
  Merged result(int64_t rows);

 private:
  const MergeRequest& request_;
  std::vector<ShardFolder> shards_;
  Json provenance_;
  Merged merged_;
  int64_t done_ = 0;
};

/// Returns the total bytes of all columns.
int64_t column_bytes(const DataSetView& set);

}  // namespace plimsoll

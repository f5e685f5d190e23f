#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "io/row_reader.h"
#include "store/row_cache.h"
#include "store/feature_file.h"

namespace plimsoll {

/// The rows of a file, through a cache whose size can change. Not thread-safe.
class CachedRows {
 public:
  /// `least_bytes`: of the cache, until it is resized. Errors: those of RowReader and RowCache.
  explicit CachedRows(const FeatureFile& file, int64_t least_bytes = kLeastBytes);
  static constexpr int64_t kLeastBytes = 256 * 1024;

  int64_t width() const { return file_.width; }

  /// A cache of so many bytes (Tag::cache) in place of the one there is, empty and with nothing planned; it
  /// keeps at least what it was made with. Part of them are for coming rows: of the next batch themselves,
  /// and of later ones who wants them when. Errors: BudgetExceeded, the cache being the least one then.
  void resize(int64_t bytes);
  /// RowCache::set_uses() of whatever cache there is.
  void set_uses(std::span<const uint8_t> uses);
  /// Has room for batches of so many rows, whatever cache there is. Errors: BudgetExceeded.
  void reserve(int64_t batch_rows);
  /// The bytes with which every row stays in memory.
  int64_t most_bytes() const;
  /// Of a cache's bytes, those that are left out for its plan and what belongs to it, for who plans to keep
  /// to.
  int64_t plan_bytes() const { return plan_bytes_; }
  /// What a planned row takes at most (store/row_plan.h).
  static constexpr int64_t kPlannedRow = 12 + 43;

  RowCache& cache() { return *cache_; }
  /// Of all caches there were.
  RowCounters counters();

 private:
  void make_cache(int64_t bytes);
  int64_t row_bytes() const { return file_.width * int64_t{sizeof(float)}; }

  FeatureFile file_;
  int64_t least_bytes_;
  int64_t plan_bytes_ = 0;
  int64_t batch_rows_ = 0;
  std::span<const uint8_t> uses_;
  RowReader reader_;
  std::optional<RowCache> cache_;
  RowCounters before_;  // of earlier caches
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "io/row_reader.h"
#include "rows/feature_file.h"
#include "rows/row_cache.h"

namespace plimsoll {

/// The rows of a file, through a cache whose size can change. Not thread-safe.
class CachedRows {
 public:
  /// With a small cache, until it is resized. Errors: those of RowReader and RowCache.
  explicit CachedRows(const FeatureFile& file);

  int64_t width() const { return file_.width; }
  /// A cache of so many bytes (Tag::cache) in place of the one there is, empty. Errors: BudgetExceeded, the
  /// cache being a small one then.
  void resize(int64_t bytes);
  /// The bytes with which every row stays in memory.
  int64_t most_bytes() const;
  /// f32 [rows, F] into `out`. Errors: those of RowCache::gather().
  void gather(std::span<const int64_t> rows, float* out);

 private:
  FeatureFile file_;
  RowReader reader_;
  std::optional<RowCache> cache_;
};

}  // namespace plimsoll

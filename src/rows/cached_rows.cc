#include "rows/cached_rows.h"

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int64_t kLeastBytes = 256 * 1024;
// What a row costs in a cache beside its bytes (rows/row_cache.h).
constexpr int64_t kCachedRow = 40;

}  // namespace

CachedRows::CachedRows(const FeatureFile& file) : file_(file), reader_(file.path, file.layout()) {
  resize(0);
}

void CachedRows::resize(int64_t bytes) {
  const int64_t least = std::max(kLeastBytes, 4 * (file_.layout().row_bytes + kCachedRow) + 1024);
  cache_.reset();
  try {
    cache_.emplace(reader_, RowCache::Options{std::max(bytes, least)});
  } catch (const BudgetExceeded&) {
    cache_.emplace(reader_, RowCache::Options{least});
    throw;
  }
}

void CachedRows::gather(std::span<const int64_t> rows, float* out) {
  const std::span wide(out, rows.size() * static_cast<size_t>(file_.width));
  cache_->gather(rows, file_.values.packed_in(wide));
  file_.values.widen_in_place(wide);
}

int64_t CachedRows::most_bytes() const {
  return file_.rows * (file_.layout().row_bytes + kCachedRow) + 4096;
}

}  // namespace plimsoll

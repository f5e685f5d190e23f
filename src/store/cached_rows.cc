#include "store/cached_rows.h"

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

// What a row costs in a cache beside its bytes (store/row_cache.h).
constexpr int64_t kCachedRow = 40;
// Shares of a cache for the plan and for the rows that are read ahead.
constexpr int64_t kPlanShare = 8;
constexpr int64_t kAheadShare = 8;

RowCounters sum(RowCounters a, const RowCounters& b) {
  a.hits += b.hits;
  a.misses += b.misses;
  a.planned_misses += b.planned_misses;
  a.fewest_misses += b.fewest_misses;
  a.bytes_useful += b.bytes_useful;
  a.waited_seconds += b.waited_seconds;
  a.bytes_read = b.bytes_read;  // of the reader, which stays
  return a;
}

}  // namespace

CachedRows::CachedRows(const FeatureFile& file, int64_t least_bytes)
    : file_(file), least_bytes_(least_bytes), reader_(file.path, {file.offset, row_bytes(), file.rows}) {
  make_cache(least_bytes_);
}

void CachedRows::make_cache(int64_t bytes) {
  const int64_t least = 4 * (row_bytes() + kCachedRow) + 1024;
  bytes = std::max(bytes, least);
  const bool is_least = bytes <= least_bytes_;
  const int64_t planned = is_least ? 0 : bytes / kPlanShare;
  const int64_t ahead = is_least ? 0 : (bytes - planned) / kAheadShare;
  cache_.emplace(reader_, RowCache::Options{bytes - planned, ahead});
  cache_->reserve(batch_rows_);
  cache_->set_uses(uses_);
  plan_bytes_ = planned;
}

void CachedRows::resize(int64_t bytes) {
  before_ = counters();
  cache_.reset();
  try {
    make_cache(std::max(bytes, least_bytes_));
  } catch (const BudgetExceeded&) {
    make_cache(least_bytes_);
    throw;
  }
}

void CachedRows::set_uses(std::span<const uint8_t> uses) {
  uses_ = uses;
  cache_->set_uses(uses);
}

void CachedRows::reserve(int64_t batch_rows) {
  batch_rows_ = std::max(batch_rows_, batch_rows);
  cache_->reserve(batch_rows_);
}

int64_t CachedRows::most_bytes() const {
  const int64_t all = file_.rows * (row_bytes() + kCachedRow) + 4096;
  return all * kPlanShare / (kPlanShare - 1) * kAheadShare / (kAheadShare - 1);
}

RowCounters CachedRows::counters() {
  return sum(before_, cache_->counters());
}

}  // namespace plimsoll

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "memory/vector.h"

namespace plimsoll {

/// A map from row numbers to values in one open-addressed table (Tag::cache) with linear probing, at most
/// three quarters full. Not thread-safe. Errors: BudgetExceeded, with nothing changed.
template <typename Value>
class RowTable {
 public:
  /// Returns the bytes of a table constructed for `rows` rows.
  static int64_t bytes_for(int64_t rows) { return buckets_for(rows) * static_cast<int64_t>(sizeof(Bucket)); }

  /// Allocates space for `rows` rows. The table allocates nothing more until it has more rows.
  explicit RowTable(int64_t rows = 0) { rehash(buckets_for(rows)); }

  /// Allocates space for `rows` rows if needed. Up to this size, insert_or_assign() allocates nothing.
  void reserve(int64_t rows) {
    const int64_t needed = buckets_for(rows);
    const auto current = static_cast<int64_t>(buckets_.size());
    if (needed > current) rehash(std::max(needed, 2 * current));
  }

  int64_t size() const { return size_; }
  /// Returns a pointer to the value of a row, or null if the row is absent. The pointer is valid until the
  /// table changes.
  Value* find(int64_t row) {
    const size_t bucket = bucket_of(row);
    return buckets_[bucket].row == row ? &buckets_[bucket].value : nullptr;
  }
  /// Prefetches the bucket of a row for find().
  void prefetch(int64_t row) const { __builtin_prefetch(&buckets_[home(row)]); }

  void insert_or_assign(int64_t row, const Value& value) {
    size_t bucket = bucket_of(row);
    if (buckets_[bucket].row == kNone) {
      reserve(size_ + 1);  // May throw, with nothing changed.
      ++size_;
      bucket = bucket_of(row);
    }
    buckets_[bucket] = {row, value};
  }

  /// Removes a row. Later rows move into the gap as far as their home bucket allows, so no tombstone is
  /// needed.
  void erase(int64_t row) {
    size_t gap = bucket_of(row);
    if (buckets_[gap].row == kNone) return;
    --size_;
    for (size_t at = following(gap); buckets_[at].row != kNone; at = following(at)) {
      const size_t home_bucket = home(buckets_[at].row);
      if (distance(home_bucket, at) < distance(gap, at)) continue;
      buckets_[gap] = buckets_[at];
      gap = at;
    }
    buckets_[gap].row = kNone;
  }

 private:
  static constexpr int64_t kNone = -1;
#pragma pack(push, 4)
  struct Bucket {
    int64_t row;
    Value value;
  };
#pragma pack(pop)

  static int64_t buckets_for(int64_t rows) {
    return rows + rows / 3 + 8;
  }
  // Maps the upper bits of a hashed row to a bucket. There are fewer than 2^32 buckets.
  size_t home(int64_t row) const {
    uint64_t mixed = static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15U;
    mixed ^= mixed >> 32;
    mixed *= 0xD6E8FEB86659FD93U;
    return static_cast<size_t>(((mixed >> 32) * buckets_.size()) >> 32);
  }
  size_t following(size_t bucket) const {
    return bucket + 1 == buckets_.size() ? 0 : bucket + 1;
  }
  size_t distance(size_t from, size_t to) const {
    return to >= from ? to - from : to + buckets_.size() - from;
  }
  // Returns the bucket of the row, or the one where it would be inserted.
  size_t bucket_of(int64_t row) const {
    size_t bucket = home(row);
    while (buckets_[bucket].row != row && buckets_[bucket].row != kNone) bucket = following(bucket);
    return bucket;
  }
  void rehash(int64_t buckets) {
    Vector<Bucket, Tag::cache> old(static_cast<size_t>(buckets), Bucket{kNone, {}});
    old.swap(buckets_);
    for (const Bucket& bucket : old)
      if (bucket.row != kNone) buckets_[bucket_of(bucket.row)] = bucket;
  }

  Vector<Bucket, Tag::cache> buckets_;
  int64_t size_ = 0;
};

}  // namespace plimsoll

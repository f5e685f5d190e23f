#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "memory/vector.h"

namespace plimsoll {

/// Row numbers and what is kept of each, in one open-addressed table (Tag::cache): linear probing, at most
/// three quarters full. Not thread-safe. Errors: BudgetExceeded, with nothing changed.
template <typename Value>
class RowTable {
 public:
  /// Bytes that a table made for `rows` rows takes.
  static int64_t bytes_for(int64_t rows) { return buckets_for(rows) * static_cast<int64_t>(sizeof(Bucket)); }

  /// No more is allocated until it holds more than `rows`.
  explicit RowTable(int64_t rows = 0) { rehash(buckets_for(rows)); }

  /// Makes room for `rows`, unless there is: insert_or_assign() allocates nothing up to there.
  void reserve(int64_t rows) {
    const int64_t wanted = buckets_for(rows);
    const auto there = static_cast<int64_t>(buckets_.size());
    if (wanted > there) rehash(std::max(wanted, 2 * there));
  }

  int64_t size() const { return size_; }
  /// None if the row is not there. Valid until the table changes.
  Value* find(int64_t row) {
    const size_t bucket = bucket_of(row);
    return buckets_[bucket].row == row ? &buckets_[bucket].value : nullptr;
  }
  /// Has the bucket of a row on its way from memory before find() needs it.
  void prefetch(int64_t row) const { __builtin_prefetch(&buckets_[home(row)]); }

  void insert_or_assign(int64_t row, const Value& value) {
    size_t bucket = bucket_of(row);
    if (buckets_[bucket].row == kNone) {
      reserve(++size_);
      bucket = bucket_of(row);
    }
    buckets_[bucket] = {row, value};
  }

  /// Rows after the gap move up as far as their own place allows, so that no mark of it is left.
  void erase(int64_t row) {
    size_t gap = bucket_of(row);
    if (buckets_[gap].row == kNone) return;
    --size_;
    for (size_t at = following(gap); buckets_[at].row != kNone; at = following(at)) {
      const size_t wanted = home(buckets_[at].row);
      if (distance(wanted, at) < distance(gap, at)) continue;
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
  // The part of the range that the upper bits of a mixed row fall into; there are less than 2^32 buckets.
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
  // Where the row is, or would be.
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

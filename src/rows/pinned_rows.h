#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/row_reader.h"
#include "memory/mapped_bytes.h"
#include "rows/row_set.h"

namespace plimsoll {

/// Rows of a file that are in memory for good: those that are used most. Thread-safe once all are put there.
class PinnedRows {
 public:
  static int64_t bytes_for(const RowLayout& layout, int64_t rows) {
    return RowSet::bytes_for(layout.rows) + rows * layout.row_bytes;
  }

  /// `rows` of them (Tag::cache), by how often each row of the file is used; the first of those that are used
  /// alike. Errors: BudgetExceeded.
  PinnedRows(const RowLayout& layout, std::span<const uint8_t> uses, int64_t rows);
  /// The first of them that is not before `row`; RowSet::kNone if there is none.
  int64_t next(int64_t row) const { return set_.next(row); }
  /// Copies the bytes of one of them to its place.
  void put(int64_t row, const std::byte* bytes);

  bool has(int64_t row) const { return set_.has(row); }
  /// Its bytes; none if it is not kept.
  const std::byte* find(int64_t row) const {
    const int64_t index = set_.index(row);
    return index == RowSet::kNone ? nullptr : rows_.data() + index * row_bytes_;
  }
  void prefetch(int64_t row) const { set_.prefetch(row); }

 private:
  int64_t row_bytes_;
  RowSet set_;
  MappedBytes rows_;
};

}  // namespace plimsoll

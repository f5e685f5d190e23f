#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/row_reader.h"
#include "memory/mapped_bytes.h"
#include "rows/row_set.h"

namespace plimsoll {

/// Keeps the most used rows of a file in memory. Once put() has stored all rows, any number of threads may
/// read them.
class PinnedRows {
 public:
  static int64_t bytes_for(const RowLayout& layout, int64_t rows) {
    return RowSet::bytes_for(layout.rows) + rows * layout.row_bytes;
  }

  /// Selects the `rows` rows with the largest `uses` [rows of the file]; of rows with equal uses, the lower
  /// ones. Their memory is entered under Tag::cache. Errors: BudgetExceeded.
  PinnedRows(const RowLayout& layout, std::span<const uint8_t> uses, int64_t rows);
  /// Returns the first selected row >= `row`; RowSet::kNone if there is none.
  int64_t next(int64_t row) const { return set_.next(row); }
  /// Copies the row_bytes bytes of a row, which must be one of those selected.
  void put(int64_t row, const std::byte* bytes);

  bool has(int64_t row) const { return set_.has(row); }
  /// Returns the row_bytes bytes of a row, or null if it is not one of those selected. They are zero before
  /// put().
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

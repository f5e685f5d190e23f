#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>

#include "io/row_reader.h"
#include "memory/mapped_bytes.h"
#include "rows/row_set.h"

namespace plimsoll {

/// Rows of a file that are in memory for good: those that are used most. Thread-safe once they are read.
class PinnedRows {
 public:
  static int64_t bytes_for(const RowLayout& layout, int64_t rows) {
    return RowSet::bytes_for(layout.rows) + rows * layout.row_bytes;
  }

  /// `rows` of them (Tag::cache), by how often each row of the file is used; the first of those that are used
  /// alike. Errors: BudgetExceeded.
  PinnedRows(const RowLayout& layout, std::span<const uint8_t> uses, int64_t rows);
  /// Has them read, some at a time. False: it was told to stop, and is to be called again. Errors: those of
  /// RowReader::read(), BudgetExceeded.
  bool read(RowReader& reader, const std::stop_token& stop);

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

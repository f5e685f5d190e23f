#include "rows/pinned_rows.h"

#include <cstring>

namespace plimsoll {

PinnedRows::PinnedRows(const RowLayout& layout, std::span<const uint8_t> uses, int64_t rows)
    : row_bytes_(layout.row_bytes), set_(layout.rows), rows_(Tag::cache, rows * layout.row_bytes) {
  add_most_used(set_, uses, rows);
}

void PinnedRows::put(int64_t row, const std::byte* bytes) {
  std::memcpy(rows_.data() + set_.index(row) * row_bytes_, bytes, static_cast<size_t>(row_bytes_));
}

}  // namespace plimsoll

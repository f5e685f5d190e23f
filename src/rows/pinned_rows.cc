#include "rows/pinned_rows.h"

#include <array>
#include <cstring>
#include <limits>

namespace plimsoll {

PinnedRows::PinnedRows(const RowLayout& layout, std::span<const uint8_t> uses, int64_t rows)
    : row_bytes_(layout.row_bytes), set_(layout.rows), rows_(Tag::cache, rows * layout.row_bytes) {
  std::array<int64_t, std::numeric_limits<uint8_t>::max() + 1> count{};
  for (const uint8_t used : uses) ++count[used];
  size_t least = count.size() - 1;  // all that are used more often are kept, and some of these
  int64_t more = 0;
  while (least > 0 && more + count[least] < rows) more += count[least--];
  int64_t of_least = rows - more;
  for (size_t row = 0; row < uses.size(); ++row)
    if (uses[row] > least || (uses[row] == least && of_least-- > 0)) set_.add(static_cast<int64_t>(row));
  set_.number();
}

void PinnedRows::put(int64_t row, const std::byte* bytes) {
  std::memcpy(rows_.data() + set_.index(row) * row_bytes_, bytes, static_cast<size_t>(row_bytes_));
}

}  // namespace plimsoll

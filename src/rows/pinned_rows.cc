#include "rows/pinned_rows.h"

#include <array>
#include <limits>

namespace plimsoll {
namespace {

constexpr size_t kReadTogether = 8192;  // rows that are read at a time

}  // namespace

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

bool PinnedRows::read(RowReader& reader, const std::stop_token& stop) {
  Vector<WantedRow, Tag::cache> wanted;
  wanted.reserve(kReadTogether);
  std::byte* to = rows_.data();
  for (int64_t row = set_.next(0); row != RowSet::kNone; row = set_.next(row + 1)) {
    wanted.push_back({row, to});
    to += row_bytes_;
    if (wanted.size() < kReadTogether) continue;
    if (stop.stop_requested()) return false;
    reader.read(wanted);
    wanted.clear();
  }
  reader.read(wanted);
  return true;
}

}  // namespace plimsoll

#include "rows/row_set.h"

#include <array>
#include <limits>

namespace plimsoll {

void add_most_used(RowSet& set, std::span<const uint8_t> uses, int64_t rows) {
  std::array<int64_t, std::numeric_limits<uint8_t>::max() + 1> count{};
  for (const uint8_t used : uses) ++count[used];
  // All rows with more uses than `min` are added, and some of the rows with exactly `min` uses.
  size_t min = count.size() - 1;
  int64_t more = 0;
  while (min > 0 && more + count[min] < rows) more += count[min--];
  int64_t of_least = rows - more;
  for (size_t row = 0; row < uses.size(); ++row)
    if (uses[row] > min || (uses[row] == min && of_least-- > 0)) set.add(static_cast<int64_t>(row));
  set.number();
}

}  // namespace plimsoll

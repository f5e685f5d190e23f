#include "ingest/tables/values.h"

#include <algorithm>

namespace plimsoll {

void Values::keep(std::span<const uint8_t> kept, size_t width) {
  if (!items.empty()) {
    Vector<uint8_t, Tag::ingest> kept_items;
    for (size_t row = 0; row < rows; ++row)
      kept_items.insert(kept_items.end(), static_cast<size_t>(lengths[row]), kept[row]);
    items[0].keep(kept_items, 1);
  }
  size_t to = 0;
  for (size_t row = 0; row < rows; ++row) {
    if (kept[row] == 0) continue;
    valid[to] = valid[row];
    if (!integers.empty()) integers[to] = integers[row];
    if (!texts.empty()) texts[to] = texts[row];
    if (!items.empty()) lengths[to] = lengths[row];
    if (!reals.empty())
      std::copy_n(reals.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                  reals.begin() + static_cast<std::ptrdiff_t>(to * width));
    ++to;
  }
  rows = to;
}

}  // namespace plimsoll

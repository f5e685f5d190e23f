#pragma once

#include <cstdint>
#include <numeric>
#include <span>

#include "memory/vector.h"

namespace plimsoll {

/// The range of each ID's items in a list that is sorted by `id`, the index of an ID.
class IdRanges {
 public:
  /// Finds the ranges of the IDs [0, ids). Each item's ID must be one of them.
  template <typename Item>
  void find(std::span<const Item> items, int32_t ids) {
    first_of_.assign(static_cast<size_t>(ids) + 1, 0);
    for (const Item& item : items) ++first_of_[static_cast<size_t>(item.id) + 1];
    std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
  }

  /// The items of this ID in the same list. Empty for an ID out of range.
  template <typename Item>
  std::span<const Item> for_id(std::span<const Item> items, int32_t id) const {
    const auto at = static_cast<size_t>(id);
    if (at + 1 >= first_of_.size()) return {};
    return items.subspan(static_cast<size_t>(first_of_[at]),
                         static_cast<size_t>(first_of_[at + 1] - first_of_[at]));
  }

 private:
  Vector<int32_t, Tag::columns> first_of_;  // Index of each ID's first item, and one past the last item.
};

}  // namespace plimsoll

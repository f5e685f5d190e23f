#include "sample/typed/multi_category.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace plimsoll {

MultiCategory::MultiCategory(const DataSetView& set, const Json& column, int64_t nodes)
    : name_(column.at("column")),
      items_(set, column.at("column"), ""),
      ptr_(set.column<int64_t>(column.at("ptr"))) {
  if (column.contains("valid")) valid_ = set.column<uint8_t>(column.at("valid"));
  if (std::ssize(ptr_) != nodes + 1 || (!valid_.empty() && std::ssize(valid_) != nodes))
    throw InputError(fmt::format("{}: column '{}' has lists for {} nodes, expected {}; run `plimsoll verify`",
                                 set.folder().string(), name_, std::ssize(ptr_) - 1, nodes));
  const NumberColumn vocabulary(set, column.at("vocabulary_ptr"), "");
  lists_.assign(static_cast<size_t>(std::max<int64_t>(vocabulary.size() - 1, 0)), 0);
  latest_.assign(lists_.size(), -1);
}

template <typename Use>
void MultiCategory::each_item(int64_t node, const Use& use) const {
  const int64_t first = ptr_[static_cast<size_t>(node)], end = ptr_[static_cast<size_t>(node) + 1];
  if (first < 0 || end < first || end > items_.size())
    throw InputError(
        fmt::format("column '{}', node {}: found the list {} .. {} of {} items; run `plimsoll verify`", name_,
                    node, first, end, items_.size()));
  for (int64_t item = first; item < end; ++item) {
    const int64_t value = items_.whole(item);
    if (value >= std::ssize(lists_))
      throw InputError(
          fmt::format("column '{}', node {}: found the code {}, expected one below {}; run "
                      "`plimsoll verify`",
                      name_, node, value, lists_.size()));
    use(std::max<int64_t>(value, -1));
  }
}

void MultiCategory::add_known(int64_t node) {
  has_indicator_ |= is_missing(node);
  each_item(node, [&](int64_t value) {
    if (value < 0) return;
    const auto at = static_cast<size_t>(value);
    if (latest_[at] == node) return;
    latest_[at] = node;
    ++lists_[at];
  });
}

// Among equally frequent values, the first in the vocabulary is chosen. Their places are in the order of the
// vocabulary.
void MultiCategory::choose_values() {
  Vector<int64_t, Tag::columns> order;
  for (size_t value = 0; value < lists_.size(); ++value)
    if (lists_[value] > 0) order.push_back(static_cast<int64_t>(value));
  known_ = std::ssize(order);
  const size_t chosen = std::min(order.size(), kMaxValues);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
    return lists_[static_cast<size_t>(a)] > lists_[static_cast<size_t>(b)];
  });
  order.resize(chosen);
  std::ranges::sort(order);
  std::ranges::fill(lists_, -1);
  for (const int64_t value : order) lists_[static_cast<size_t>(value)] = values_++;
  latest_ = {};
}

float* MultiCategory::write(int64_t node, float* to) const {
  std::fill_n(to, values_, 0.0F);
  double others = 0;
  each_item(node, [&](int64_t value) {
    const int64_t place = value < 0 ? -1 : lists_[static_cast<size_t>(value)];
    if (place < 0)
      ++others;
    else
      to[place] = 1;
  });
  to += values_;
  *to++ = static_cast<float>(std::log1p(others));
  if (has_indicator_) *to++ = is_missing(node) ? 1 : 0;
  return to;
}

}  // namespace plimsoll

#include "sample/block/column_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/shown.h"

namespace plimsoll {

bool are_numbers(const std::vector<std::string>& names) {
  // If edges have weights, these are the first column and have this name.
  const size_t first = !names.empty() && names.front() == "edge_weight" ? 1 : 0;
  for (size_t i = first; i < names.size(); ++i)
    if (names[i] != fmt::format("feature_{}", i - first)) return false;
  return true;
}

std::string names_in_words(const std::vector<std::string>& names) {
  constexpr size_t kMax = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMax); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", shown(names[i]));
  if (names.size() > kMax) text += fmt::format(" and {} more", names.size() - kMax);
  return text;
}

ColumnOrder::ColumnOrder(const std::vector<std::string>& expected, const std::vector<std::string>& found,
                         const std::string& what) {
  if (expected == found || are_numbers(expected) || are_numbers(found)) return;
  std::map<std::string, size_t> places;
  for (size_t column = 0; column < found.size(); ++column) places.emplace(found[column], column);
  // Each position is used once, so a name that occurs twice in either list makes the counts differ.
  for (const std::string& name : expected)
    if (const auto place = places.extract(name)) columns_.push_back(place.mapped());
  if (places.empty() && columns_.size() == expected.size() && found.size() == expected.size()) return;
  throw InputError(
      fmt::format("the data has the {} {}, expected those of the model, in any order: {}; use data with "
                  "these columns",
                  what, names_in_words(found), names_in_words(expected)));
}

void ColumnOrder::apply(std::span<float> rows) const {
  if (!changes()) return;
  std::vector<float> row(columns_.size());
  for (; rows.size() >= row.size(); rows = rows.subspan(row.size())) {
    std::copy_n(rows.begin(), row.size(), row.begin());
    for (size_t column = 0; column < row.size(); ++column) rows[column] = row[columns_[column]];
  }
}

void OrderedFeatures::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  source_->read(graphs, block);
  order_.nodes.apply(block.x);
  order_.edges.apply(block.edge_attr);
}

}  // namespace plimsoll

#include "base/nearest_word.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plimsoll {
namespace {

// Returns the distance of optimal string alignment, computed row by row.
size_t errors(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1), above, above_that;
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    above_that = std::exchange(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], above_that[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& words, size_t max) {
  std::string nearest;
  for (const std::string& known : words)
    if (const size_t found = errors(known, word); found <= max && (nearest.empty() || found < max)) {
      nearest = known;
      max = found;
    }
  return nearest;
}

}  // namespace plimsoll

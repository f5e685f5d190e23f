#include "sample/neighbour/left_out_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "base/interrupt.h"

namespace plimsoll {
namespace {

// Returns the greatest magnitude; nullopt if a number or its square is not finite.
std::optional<float> greatest_finite(std::span<const float> row) {
  float greatest = 0;
  for (const float value : row) {
    if (!std::isfinite(value * value)) return std::nullopt;
    greatest = std::max(greatest, std::abs(value));
  }
  return greatest;
}

}  // namespace

int64_t LeftOutRows::leave_out(int64_t max, DirectRows& rows, int64_t width, int64_t at_once,
                               std::span<float> buffer, const FeatureRows::Take& take) {
  clear();
  add_most_used(set_, uses_, max);
  const auto group = static_cast<size_t>(std::min(std::ssize(buffer) / width, at_once));
  Vector<int64_t, Tag::cache> numbers;
  try {
    for (int64_t next = set_.next(0); next != RowSet::kNone;) {
      throw_if_interrupted("rows of features were read");
      numbers.clear();
      for (; next != RowSet::kNone && numbers.size() < group; next = set_.next(next + 1))
        numbers.push_back(next);
      rows.read(numbers, buffer.data());
      take(keep_finite(numbers, width, buffer));
    }
  } catch (...) {
    clear();
    throw;
  }
  for (int64_t row = set_.next(0); row != RowSet::kNone; row = set_.next(row + 1))
    other_uses_[static_cast<size_t>(row)] = 0;
  return set_.number();
}

// Moves finite rows to the start of `buffer` and removes the others from the set. Returns the number of
// finite rows.
int64_t LeftOutRows::keep_finite(std::span<const int64_t> rows, int64_t width, std::span<float> buffer) {
  const auto row_width = static_cast<size_t>(width);
  int64_t kept = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto row = buffer.subspan(r * row_width, row_width);
    if (const auto greatest = greatest_finite(row)) {
      greatest_ = std::max(greatest_, *greatest);
      std::ranges::copy(row, buffer.begin() + static_cast<std::ptrdiff_t>(kept++ * width));
    } else {
      set_.remove(rows[r]);
    }
  }
  return kept;
}

void LeftOutRows::clear() {
  set_.clear();
  other_uses_ = uses_;
  greatest_ = 0;
}

void LeftOutRows::append_places(std::span<const int64_t> nodes, int64_t width, GraphBlock& block) const {
  auto coming = static_cast<int32_t>(std::ssize(block.x) / width);
  for (const int64_t node : nodes) {
    const int64_t place = set_.index(node);
    block.row_place.push_back(place == RowSet::kNone ? -1 - coming++ : static_cast<int32_t>(place));
  }
}

}  // namespace plimsoll

#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "memory/vector.h"

namespace plimsoll {

/// The rows of a gradient that a batch has added to: all other rows are 0. With it, the work of a step
/// depends on the rows of the batch, not on the size of the table. The constructor allocates all memory. Not
/// thread-safe.
class RowMarks {
 public:
  /// A gradient of which nothing is known: every row counts as marked.
  RowMarks() = default;
  /// The rows are some of a larger table if `numbers` is not empty: it has the number of each row there, and
  /// must outlive the marks.
  explicit RowMarks(int64_t rows, std::span<const uint32_t> numbers = {})
      : rows_(rows),
        words_(static_cast<size_t>((rows + 63) / 64), 0),
        numbers_(numbers),
        in_order_(numbers.size()) {}
  /// Bytes in the ledger of RowMarks(rows), with or without numbers.
  static int64_t bytes(int64_t rows, bool numbered = false) {
    return (rows + 63) / 64 * int64_t{sizeof(uint64_t)} + (numbered ? rows * int64_t{sizeof(uint32_t)} : 0);
  }

  /// Whether rows are marked one by one; if not, every row counts as marked.
  bool known() const { return rows_ > 0; }
  /// Marks a row. Requires known().
  void add(int64_t row) { words_[static_cast<size_t>(row / 64)] |= uint64_t{1} << (row % 64); }
  void add(const RowMarks& more) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= more.words_[w];
  }
  void add_all() {
    std::ranges::fill(words_, ~uint64_t{0});
    if (rows_ % 64 != 0) words_.back() = (uint64_t{1} << (rows_ % 64)) - 1;
  }
  void clear() { std::ranges::fill(words_, 0); }

  /// Calls visit(row) for each marked row, in ascending order. Requires known().
  template <typename Visit>
  void each(const Visit& visit) const {
    for (size_t w = 0; w < words_.size(); ++w)
      for (uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        visit(static_cast<int64_t>(w) * 64 + std::countr_zero(rest));
  }

  /// Calls visit(first, end) for ranges of the numbers of a contiguous `gradient` that hold all numbers of
  /// the marked rows, in ascending order.
  template <typename Visit>
  void each_range(const at::Tensor& gradient, const Visit& visit) const {
    if (!known()) return visit(int64_t{0}, gradient.numel());
    const int64_t width = gradient.numel() / gradient.size(0);
    each([&](int64_t row) { visit(row * width, (row + 1) * width); });
  }

  /// Calls visit(at, first, count) for the same ranges, in the order of the table: `count` numbers of the
  /// gradient from `first` on are those of the table's gradient from `at` on.
  template <typename Visit>
  void each_range_of_table(const at::Tensor& gradient, const Visit& visit) const {
    if (numbers_.empty())
      return each_range(gradient, [&](int64_t first, int64_t end) { visit(first, first, end - first); });
    size_t count = 0;
    each([&](int64_t row) { in_order_[count++] = static_cast<uint32_t>(row); });
    const std::span<const uint32_t> marked = std::span(in_order_).first(count);
    std::ranges::sort(std::span(in_order_).first(count), {}, [&](uint32_t row) { return numbers_[row]; });
    const int64_t width = gradient.numel() / gradient.size(0);
    for (const uint32_t row : marked) visit(numbers_[row] * width, row * width, width);
  }

 private:
  int64_t rows_ = 0;
  Vector<uint64_t, Tag::gradients> words_;
  std::span<const uint32_t> numbers_;
  mutable Vector<uint32_t, Tag::gradients> in_order_;  // The marked rows, sorted by their numbers.
};

}  // namespace plimsoll

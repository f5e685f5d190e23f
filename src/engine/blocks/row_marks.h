#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "memory/vector.h"

namespace plimsoll {

/// The rows of a gradient that a batch has added to: all other rows are 0. With it, the work of a step
/// depends on the rows of the batch, not on those of the table. The constructor allocates all memory. Not
/// thread-safe.
class RowMarks {
 public:
  /// A gradient of which nothing is known: every row counts as marked.
  RowMarks() = default;
  explicit RowMarks(int64_t rows) : rows_(rows), words_(static_cast<size_t>((rows + 63) / 64), 0) {}
  /// Bytes in the ledger of RowMarks(rows).
  static int64_t bytes(int64_t rows) { return (rows + 63) / 64 * int64_t{sizeof(uint64_t)}; }

  /// Whether rows are told apart.
  bool known() const { return rows_ > 0; }
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

 private:
  int64_t rows_ = 0;
  Vector<uint64_t, Tag::gradients> words_;
};

}  // namespace plimsoll

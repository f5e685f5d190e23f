#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "memory/vector.h"

namespace plimsoll {

/// A subset of the rows 0 .. rows-1 of a file that can compute the rank of each of its rows (a bit vector
/// with ranks: Jacobson, "Space-efficient static trees and graphs", FOCS 1989). Needs a quarter of a byte
/// (Tag::cache) per row of the file. Several threads may read it as long as none changes it.
class RowSet {
 public:
  static constexpr int64_t kNone = -1;
  static int64_t bytes_for(int64_t rows) {
    return (rows + kBits - 1) / kBits * static_cast<int64_t>(sizeof(Word));
  }

  RowSet() = default;
  /// Makes an empty set. Errors: BudgetExceeded.
  explicit RowSet(int64_t rows) : words_(static_cast<size_t>((rows + kBits - 1) / kBits)) {}

  bool has(int64_t row) const { return (word(row).bits >> (row % kBits) & 1) != 0; }
  void add(int64_t row) { word(row).bits |= uint64_t{1} << (row % kBits); }
  void remove(int64_t row) { word(row).bits &= ~(uint64_t{1} << (row % kBits)); }
  void clear() { std::fill(words_.begin(), words_.end(), Word{}); }

  /// Computes the ranks that index() returns. Returns the number of rows in the set.
  int64_t number() {
    int64_t before = 0;
    for (Word& word : words_) {
      word.before = before;
      before += std::popcount(word.bits);
    }
    return before;
  }
  /// Removes all rows, and calls use(row) for each in ascending order. `use` must not change the set.
  template <typename Use>
  void take_all(const Use& use) {
    for (size_t at = 0; at < words_.size(); ++at)
      for (uint64_t bits = std::exchange(words_[at].bits, 0); bits != 0; bits &= bits - 1)
        use(static_cast<int64_t>(at) * kBits + std::countr_zero(bits));
  }
  /// Returns the number of rows in the set that are lower than `row`, or kNone if `row` is not in the set.
  /// Call number() after the last change and before this.
  int64_t index(int64_t row) const {
    const Word& entry = word(row);
    const uint64_t bit = uint64_t{1} << (row % kBits);
    return (entry.bits & bit) == 0 ? kNone : entry.before + std::popcount(entry.bits & (bit - 1));
  }
  /// Prefetches the data that index() needs for a row.
  void prefetch(int64_t row) const { __builtin_prefetch(&word(row)); }
  /// Returns the first row of the set that is >= `row`; kNone if there is none.
  int64_t next(int64_t row) const {
    auto at = static_cast<size_t>(row / kBits);
    if (at >= words_.size()) return kNone;
    uint64_t bits = words_[at].bits & ~uint64_t{0} << (row % kBits);
    while (bits == 0 && ++at < words_.size()) bits = words_[at].bits;
    return bits == 0 ? kNone : static_cast<int64_t>(at) * kBits + std::countr_zero(bits);
  }

 private:
  static constexpr int64_t kBits = 64;
  struct Word {
    uint64_t bits = 0;
    int64_t before = 0;  // Number of rows of the set in earlier words.
  };
  Word& word(int64_t row) { return words_[static_cast<size_t>(row / kBits)]; }
  const Word& word(int64_t row) const { return words_[static_cast<size_t>(row / kBits)]; }

  Vector<Word, Tag::cache> words_;
};

/// Adds the `rows` rows with the largest `uses` [rows of the file] to an empty set and calls number(). Of
/// rows with equal uses, the lower ones are added.
void add_most_used(RowSet& set, std::span<const uint8_t> uses, int64_t rows);

}  // namespace plimsoll

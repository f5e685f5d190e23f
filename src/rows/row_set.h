#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "memory/vector.h"

namespace plimsoll {

/// A set of the rows 0 .. rows-1 of a file, and where each stands among those of the set in ascending order
/// (a bit vector with ranks: Jacobson, "Space-efficient static trees and graphs", FOCS 1989). Takes a quarter
/// of a byte (Tag::cache) for each row of the file. Not thread-safe while it changes.
class RowSet {
 public:
  static constexpr int64_t kNone = -1;
  static int64_t bytes_for(int64_t rows) {
    return (rows + kBits - 1) / kBits * static_cast<int64_t>(sizeof(Word));
  }

  RowSet() = default;
  /// With none in it. Errors: BudgetExceeded.
  explicit RowSet(int64_t rows) : words_(static_cast<size_t>((rows + kBits - 1) / kBits)) {}

  bool has(int64_t row) const { return (word(row).bits >> (row % kBits) & 1) != 0; }
  void add(int64_t row) { word(row).bits |= uint64_t{1} << (row % kBits); }
  void remove(int64_t row) { word(row).bits &= ~(uint64_t{1} << (row % kBits)); }
  void clear() { std::fill(words_.begin(), words_.end(), Word{}); }

  /// Counts the rows, which index() has to know. Returns how many there are.
  int64_t number() {
    int64_t before = 0;
    for (Word& word : words_) {
      word.before = before;
      before += std::popcount(word.bits);
    }
    return before;
  }
  /// Calls use(row) for each row in ascending order, and removes it.
  template <typename Use>
  void take_all(const Use& use) {
    for (size_t at = 0; at < words_.size(); ++at)
      for (uint64_t bits = std::exchange(words_[at].bits, 0); bits != 0; bits &= bits - 1)
        use(static_cast<int64_t>(at) * kBits + std::countr_zero(bits));
  }
  /// How many rows of the set are before this one, or kNone if it is not in it. After number().
  int64_t index(int64_t row) const {
    const Word& of = word(row);
    const uint64_t bit = uint64_t{1} << (row % kBits);
    return (of.bits & bit) == 0 ? kNone : of.before + std::popcount(of.bits & (bit - 1));
  }
  /// Has what index() needs of a row on its way from memory.
  void prefetch(int64_t row) const { __builtin_prefetch(&word(row)); }
  /// The first row of the set that is not before `row`; kNone if there is none.
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
    int64_t before = 0;  // rows of the set in the words before
  };
  Word& word(int64_t row) { return words_[static_cast<size_t>(row / kBits)]; }
  const Word& word(int64_t row) const { return words_[static_cast<size_t>(row / kBits)]; }

  Vector<Word, Tag::cache> words_;
};

/// Adds the `rows` that are used most to an empty set, of what uses[row] says; the first of those that are
/// used alike. They are numbered.
void add_most_used(RowSet& set, std::span<const uint8_t> uses, int64_t rows);

}  // namespace plimsoll

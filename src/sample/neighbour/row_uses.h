#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace plimsoll {

/// Distribution of the uses of a file's rows. Estimates how many reads a cache of some rows saves. Assumes
/// that blocks use rows independently of each other.
class RowUses {
 public:
  /// `uses` is the number of times that each row is used in `counted_blocks` blocks, capped at 255. A block
  /// has `nodes` rows on average.
  RowUses(std::span<const uint8_t> uses, int64_t counted_blocks, double nodes);

  /// Returns the uses of all rows but the `rows` most used ones.
  RowUses without_most_used(int64_t rows) const;
  /// Returns the expected number of different rows that `blocks` blocks use.
  double distinct(double blocks) const;
  /// Returns the expected number of different rows per block in a pack with space for `room` rows, if each
  /// row is stored once per pack.
  double packed(double room) const;

 private:
  static constexpr size_t kLevels = std::numeric_limits<uint8_t>::max() + 1;
  std::array<double, kLevels> rows_{};    // Number of rows by use count.
  std::array<double, kLevels> chance_{};  // Probability that a block uses a row with this use count.
};

}  // namespace plimsoll

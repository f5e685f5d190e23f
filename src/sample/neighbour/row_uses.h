#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace plimsoll {

/// How many rows of a file are used how often, and by which part of all blocks: what a cache of some of them
/// spares is expected from it. Blocks are taken to use rows independently of each other.
class RowUses {
 public:
  /// `uses`: of each row in `counted_blocks` blocks of `nodes` rows on average, no more than a byte tells.
  RowUses(std::span<const uint8_t> uses, int64_t counted_blocks, double nodes);

  RowUses without_most_used(int64_t rows) const;
  /// Rows that some of so many blocks use.
  double distinct(double blocks) const;
  /// Rows for each block of a pack that has room for so many, each once however many of its blocks use it.
  double packed(double room) const;

 private:
  static constexpr size_t kLevels = std::numeric_limits<uint8_t>::max() + 1;
  std::array<double, kLevels> rows_{};    // by how often they were used
  std::array<double, kLevels> chance_{};  // that a block uses one
};

}  // namespace plimsoll

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "sample/seeds/seed_blocks.h"

namespace plimsoll {

/// The order in which a run visits blocks: the blocks of an epoch, the validation blocks, the blocks of the
/// next epoch. `blocks` must outlive this object. Not thread-safe.
class RunOrder {
 public:
  /// Maximum number of blocks in flight. Blocks before them will not be read again.
  static constexpr size_t kUnderWay = 64;

  explicit RunOrder(const SeedBlocks& blocks) : RunOrder(blocks, blocks.blocks()) {}
  /// Restricts training blocks to those before number `end`.
  RunOrder(const SeedBlocks& blocks, int64_t end) : blocks_(&blocks), end_(end) {}
  /// Returns the block after this one, or nullopt after the last one. After validation blocks, this is the
  /// first block of the epoch that follows the last requested epoch.
  std::optional<int64_t> after(int64_t number);

  /// Records that a block is read. Returns whether it is one of the recently read blocks and is therefore
  /// read again.
  bool visit(int64_t number);

 private:
  std::optional<int64_t> if_not_over(int64_t number) const;

  const SeedBlocks* blocks_;
  int64_t end_;
  int64_t last_epoch_ = 0;
  std::deque<int64_t> visited_;  // Recently visited blocks.
};

}  // namespace plimsoll

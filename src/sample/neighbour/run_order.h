#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "sample/seeds/seed_blocks.h"

namespace plimsoll {

/// The order in which a run visits blocks: those of an epoch, those that validate, those of the next epoch.
/// `blocks` have to outlive it. Not thread-safe.
class RunOrder {
 public:
  /// Blocks that may be under way at once: one that stands farther before another is not read any more.
  static constexpr size_t kUnderWay = 64;

  explicit RunOrder(const SeedBlocks& blocks) : RunOrder(blocks, blocks.blocks()) {}
  /// Of training blocks, those before number `end`.
  RunOrder(const SeedBlocks& blocks, int64_t end) : blocks_(&blocks), end_(end) {}
  /// The block after this one, none after the last. It remembers the epoch: after the blocks that validate
  /// comes the epoch after the one that was asked for last.
  std::optional<int64_t> after(int64_t number);

  /// A block is read. Returns whether it was read just before, too, and is read again.
  bool visit(int64_t number);

 private:
  std::optional<int64_t> if_not_over(int64_t number) const;

  const SeedBlocks* blocks_;
  int64_t end_;
  int64_t last_epoch_ = 0;
  std::deque<int64_t> visited_;  // the last
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <functional>

#include "sample/block/block.h"

namespace plimsoll {

/// How many blocks run at the same time, and how many are read ahead.
struct BlocksAhead {
  int blocks = 1;
  int64_t prefetch = 0;
};

/// The memory that remains if a certain number of blocks run at the same time.
struct LeftByBlocks {
  int64_t cache_bytes = 0;
  int64_t prefetch = 0;  ///< Blocks read ahead: as many as fit, up to the requested number.
};

/// Chooses the number of blocks for a source with a cache. Memory for blocks is taken from the cache, so that
/// more bytes are read and written. The candidates are `max.blocks` and its repeated halves, each with
/// `max.prefetch`, 1 or 0 blocks read ahead. Chooses the one with the shortest predicted epoch, but a smaller
/// number of blocks only if it is at least a tenth faster. `divide` returns the memory that remains after a
/// choice. Returns `max` for a source without a cache.
///
/// The prediction assumes that a disk reads 1 GB/s while blocks are computed, and that each worker computes 2
/// GB/s of tensors, `graph_bytes` per graph. If no block is read ahead, a worker that waits for its block
/// computes nothing. No time is measured, so that a budget is divided in the same way every time.
BlocksAhead choose_blocks(const BlockSource& source, const BlocksAhead& max, int64_t graph_bytes,
                          const std::function<LeftByBlocks(const BlocksAhead&)>& divide);

/// Approximate share of the forward pass in the time of a step.
inline constexpr double kForwardShare = 1.0 / 3;

}  // namespace plimsoll

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
/// more bytes are read and written. Of `max.blocks` and its halves, with `max.prefetch`, 1 or 0 blocks read
/// ahead, those with the shortest predicted epoch are chosen; the larger number of blocks unless the smaller
/// is at least a tenth faster. `divide` says what a choice leaves. Returns `max` for a source without a
/// cache.
///
/// The prediction: a disk of 1 GB/s works while blocks are computed, which takes the time in which 2 GB/s of
/// memory are used, of which a graph takes `graph_bytes`. If no block is read ahead, a worker that waits for
/// its block computes nothing. No time is measured, so that a budget is divided in the same way every time.
BlocksAhead choose_blocks(const BlockSource& source, const BlocksAhead& max, int64_t graph_bytes,
                          const std::function<LeftByBlocks(const BlocksAhead&)>& divide);

/// Approximate share of the forward pass in the time of a step.
inline constexpr double kForwardShare = 1.0 / 3;

}  // namespace plimsoll

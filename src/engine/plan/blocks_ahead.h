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

/// Chooses the number of blocks for a source with a cache. Memory for blocks is taken from the cache, so that
/// more bytes are read and written. Of all numbers up to `max` those with the shortest predicted epoch are
/// chosen; the larger number of blocks unless the smaller is at least a tenth faster. Returns `max` for a
/// source without a cache.
///
/// The prediction: a disk that reads and writes kNominalBytesPerS works while blocks are computed. If no
/// block is read ahead, a worker that waits for its block computes nothing. `seconds_per_graph` is the
/// measured time of a training step on one graph; with 0 it is not known, and only `prefetch` is chosen.
BlocksAhead choose_blocks(const BlockSource& source, const BlocksAhead& max, double seconds_per_graph,
                          const std::function<int64_t(const BlocksAhead&)>& cache_bytes);

/// Approximate share of the forward pass in the time of a step.
inline constexpr double kForwardShare = 1.0 / 3;

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/workers.h"
#include "sample/neighbour/block_sampler.h"
#include "sample/neighbour/cache_shares.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// How memory is divided to sample many blocks of a run, when nothing else needs it.
struct SamplingShares {
  static constexpr int64_t kLargestGroup = 1024;

  int threads = 1;
  int64_t topology_bytes = 0;  ///< as DiskTopology::resize() wants them
  int64_t group_bytes = 0;     ///< of the blocks that a thread samples at a time
  int64_t max_group = 1;       ///< of these blocks

  /// Of `bytes` beyond topology.min_bytes(). All of the topology stays in memory where a small group of
  /// blocks of `block_bytes` (BulkSampler::bytes_for) has room beside it, on as many threads as that takes:
  /// each hop of a group reads what is not in memory.
  static SamplingShares of(int64_t bytes, const DiskTopology& topology, int64_t block_bytes, int threads);
  /// The least: one thread with a page of each column of the topology, and one block at a time.
  static SamplingShares min(const DiskTopology& topology) { return {1, topology.min_bytes(), 0, 1}; }
};

/// Blocks whose numbers follow each other.
struct BlockNumbers {
  int64_t first = 0;
  int64_t end = 0;
};

/// Told the samples of a group, in any order of groups until turn.wait(), then in that of numbers; says
/// whether there shall be more. Called from several threads.
using SampledGroup = std::function<bool(std::span<const BlockSample> group, Turn& turn)>;

/// Samples blocks, one range after the other, on shares.threads threads. `topology` has its bytes changed.
/// Errors: those of BlockSampler, ThreadRefused, Interrupted.
void sample_blocks(const BlockSampler::From& from, DiskTopology& topology, const SamplingShares& shares,
                   std::span<const BlockNumbers> numbers, const SampledGroup& use);

}  // namespace plimsoll

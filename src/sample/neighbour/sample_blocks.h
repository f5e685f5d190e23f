#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "base/workers.h"
#include "sample/neighbour/block_sampler.h"
#include "sample/neighbour/cache_shares.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// Division of memory for sampling many blocks of a run while nothing else needs memory.
struct SamplingShares {
  static constexpr int64_t kLargestGroup = 1024;

  int threads = 1;
  int64_t topology_bytes = 0;  ///< Bytes for DiskTopology::resize().
  int64_t group_bytes = 0;     ///< Bytes of the group of blocks that a thread samples together.
  int64_t max_group = 1;       ///< Maximum number of blocks in a group.
  int64_t stream_bytes = 0;    ///< Bytes for the buffers of a RangeSampler; 0: blocks are sampled in groups.

  /// Divides `bytes`, which are in addition to topology.min_bytes(). The whole topology stays in memory if a
  /// small group of blocks of `block_bytes` each (BulkSampler::bytes_for) fits in memory at the same time, on
  /// as many threads as possible. Otherwise lists are read in ranges, on threads that need `range_bytes`
  /// each. If that is 0, each hop of a group reads what is not in memory.
  static SamplingShares of(int64_t bytes, const DiskTopology& topology, int64_t block_bytes, int threads,
                           int64_t range_bytes);
  /// Returns these shares for sampling in groups instead of ranges; part of the memory is then used for
  /// blocks.
  SamplingShares without_ranges(const DiskTopology& topology) const;
  /// Returns the minimum: one thread with one page of each topology column, and one block at a time.
  static SamplingShares min(const DiskTopology& topology) { return {1, topology.min_bytes(), 0, 1}; }
};

/// A range of block numbers, first .. end-1.
struct BlockNumbers {
  int64_t first = 0;
  int64_t end = 0;
};

/// Space in a scratch file that is used while blocks are sampled.
struct StreamSpace {
  std::filesystem::path folder = {};  ///< Empty: no file is used.
  int64_t bytes = 0;                  ///< Maximum size of the file.
  double nodes = 0;                   ///< Approximate average nodes of a block.
  double edges = 0;                   ///< Approximate average edges of a block.
  int64_t max_nodes = 0;              ///< Maximum nodes of a block; 0 if unknown.
  int64_t max_edges = 0;              ///< Maximum edges of a block; 0 if unknown.
};

/// Receives the samples of a group and returns whether to continue. Called by several threads, with groups in
/// any order; code after turn.wait() runs in block order.
using SampledGroup = std::function<bool(std::span<const BlockSample> group, Turn& turn)>;

/// Returns whether lists may be read in ranges (RangeSampler): there is disk space, and blocks do not leave
/// out edges.
bool can_sample_in_ranges(const BlockSampler::From& from, const StreamSpace& space);
/// Bytes of streams that were read from a scratch file and written to it.
struct StreamBytes {
  int64_t read = 0;
  int64_t written = 0;
};
/// Samples blocks, one range after the other, on shares.threads threads. Resizes `topology`. Returns the
/// bytes of streams. If shares.stream_bytes is above 0, `on_hop` is called once for each hop of each block:
/// during the hop or, for blocks that are sampled in groups after all, before their call of `use`. Otherwise
/// it is not called. Errors: those of BlockSampler, RangeSampler and `use`; ThreadRefused, Interrupted.
StreamBytes sample_blocks(const BlockSampler::From& from, DiskTopology& topology,
                          const SamplingShares& shares, std::span<const BlockNumbers> numbers,
                          const StreamSpace& space, const SampledGroup& use,
                          const std::function<void()>& on_hop = {});

}  // namespace plimsoll

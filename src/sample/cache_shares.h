#pragma once

#include <cstdint>
#include <span>

#include "sample/block.h"
#include "store/feature_file.h"

namespace plimsoll {

/// How large sampled blocks are.
struct SampleSizes {
  int64_t most_bytes = 0;  ///< of one while it is sampled (BulkSampler::bytes_for)
  double nodes = 0;        ///< of one on average
  double edges = 0;

  static SampleSizes of(std::span<const GraphShape> shapes);
};

/// How what a NeighbourSource has for reading is used; the rest is for rows.
struct CacheShares {
  /// Blocks of a group where lists are in memory: no more than keep the thread and its readers from waiting
  /// for each other.
  static constexpr int64_t kGroupInMemory = 2;

  bool topology = false;    ///< all of it stays in memory
  int64_t ahead_bytes = 0;  ///< for blocks that are sampled ahead
  int64_t group = 1;        ///< of them that are sampled at a time
};

/// Divides `bytes` so that the fewest are read for a block. With rows of a window of blocks planned a round
/// over the rows serves so many, and a group of blocks reads the topology, `topology_bytes`, once for each of
/// `hops`, if it does not stay in memory.
CacheShares divide_cache(int64_t bytes, const SampleSizes& sizes, const FeatureFile& rows, int64_t hops,
                         int64_t topology_bytes);

}  // namespace plimsoll

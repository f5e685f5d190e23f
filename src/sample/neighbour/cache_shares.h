#pragma once

#include <cstdint>
#include <span>

#include "rows/feature_file.h"
#include "sample/block/block.h"

namespace plimsoll {

/// How large sampled blocks are.
struct SampleSizes {
  int64_t max_bytes = 0;  ///< of one while it is sampled (BulkSampler::bytes_for)
  int64_t max_nodes = 0;  ///< of one
  int64_t max_note = 0;   ///< bytes of one that is written (BlockSample::max_bytes)
  double nodes = 0;       ///< of one on average
  double edges = 0;
  int64_t edge_width = 0;   ///< values of an edge
  bool row_places = false;  ///< BlockSample::choose_rows()

  static SampleSizes of(std::span<const GraphShape> shapes, const RowWidths& widths);
  /// Of the edges of one on average, where each takes 4 bytes and its values.
  double edge_bytes() const { return edges * static_cast<double>(4 * (1 + edge_width)); }
  /// Of one whose sample is in memory.
  int64_t max_kept() const { return max_note + (row_places ? 12 : 4) * max_nodes; }
};

/// How the memory of a RunCache is used; what is left is for rows.
struct CacheShares {
  /// Blocks of a group where lists are in memory: no more than keep the thread and its readers from waiting
  /// for each other.
  static constexpr int64_t kGroupInMemory = 2;

  int64_t scratch_bytes =
      0;  ///< blocks come by OnDiskPrefetcher, with so much of the disk; 0: by InMemoryPrefetcher
  bool topology = false;    ///< all of it stays in memory
  int64_t ahead_bytes = 0;  ///< for samples of blocks that come
  int64_t group = 1;        ///< of them that are sampled or read at a time
  double bytes_read = 0;    ///< for a block, rows and topology, as the model has it
  double bytes_written = 0;
  double pieces = 0;  ///< of the file in which these are read, where that is here and there
};

struct CacheInput {
  int64_t bytes = 0;  ///< to be divided
  SampleSizes sizes;
  FeatureFile rows;
  int64_t hops = 0;
  int64_t topology_bytes = 0;          ///< that all of it takes in memory
  int64_t scratch_bytes = 0;           ///< of the disk at most; 0: there are no packs
  bool sampled = false;                ///< samples are there (SampleFile), and need no topology
  std::span<const uint8_t> uses = {};  ///< of each row, in some blocks
  int64_t counted_blocks = 0;          ///< in so many; 0: they were not counted
};

/// Divides a cache so that the fewest bytes are read and written for a block. With rows of a window of blocks
/// planned a round over the rows serves so many, be they in memory (InMemoryPrefetcher) or in a scratch file
/// (OnDiskPrefetcher); a group of blocks reads the topology once for each hop, if it does not stay in memory.
CacheShares divide_cache(const CacheInput& input);

}  // namespace plimsoll

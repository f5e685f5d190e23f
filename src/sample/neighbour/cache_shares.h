#pragma once

#include <cstdint>
#include <span>

#include "rows/feature_file.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Sizes of sampled blocks.
struct SampleSizes {
  int64_t max_bytes = 0;    ///< Maximum bytes of a block while it is sampled (BulkSampler::bytes_for).
  int64_t max_nodes = 0;    ///< Maximum nodes of a block.
  int64_t max_edges = 0;    ///< Maximum edges of a block.
  int64_t max_pairs = 0;    ///< Maximum node pairs of a block.
  int64_t max_note = 0;     ///< Maximum bytes of a written sample (BlockSample::max_bytes).
  double nodes = 0;         ///< Average nodes of a block.
  double edges = 0;         ///< Average edges of a block.
  int64_t edge_width = 0;   ///< Values per edge.
  bool row_places = false;  ///< BlockSample::choose_rows() is used.

  /// `prefixes` has the prefixes of each shape, one shape after the other; empty if they are not known.
  static SampleSizes of(std::span<const GraphShape> shapes, std::span<const GraphShape> prefixes,
                        const RowWidths& widths);
  /// Average bytes of a block's edges: 4 bytes and the values of each.
  double edge_bytes() const { return edges * static_cast<double>(4 * (1 + edge_width)); }
  /// Returns the approximate bytes of an average written sample, in a graph with `rows` nodes.
  double note_bytes(int64_t rows) const;
  /// Raises the maxima to those of a block, whose written sample has `note` bytes.
  void raise(int64_t nodes_of_block, int64_t edges_of_block, int64_t note);
  /// Maximum bytes of a sample in memory. Its vectors may have more capacity than they use.
  int64_t max_kept() const { return max_reserved() + 8 * max_nodes; }
  /// Maximum bytes of a sample in memory whose capacity was reserved (BlockSample::reserve()).
  int64_t max_reserved() const;
};

/// Division of the memory of a RunCache; the remaining bytes are for rows.
struct CacheShares {
  /// Number of blocks per group if neighbour lists are in memory: just enough to keep the thread and its
  /// readers from waiting for each other.
  static constexpr int64_t kGroupInMemory = 2;

  /// Size of the scratch file of an OnDiskPrefetcher; 0: an InMemoryPrefetcher is used.
  int64_t scratch_bytes = 0;
  bool whole = false;          ///< Blocks in the file are stored separately (WholeBatches), not in packs.
  bool topology = false;       ///< Whether the whole topology stays in memory.
  int64_t ahead_bytes = 0;     ///< Bytes for samples of future blocks.
  int64_t group = 1;           ///< Number of blocks that are sampled or read together.
  double bytes_read = 0;       ///< Estimated bytes read per block, for rows and topology.
  double bytes_written = 0;    ///< Estimated bytes written per block.
  double scattered_reads = 0;  ///< Estimated scattered reads per block.
};

/// The memory to divide, and what the division depends on.
struct CacheInput {
  int64_t bytes = 0;  ///< Bytes to divide.
  /// Additional bytes that become available if stored samples have one reader (WholeBatches) instead of two.
  int64_t bytes_of_reader = 0;
  SampleSizes sizes;
  FeatureFile rows;
  int64_t hops = 0;
  int64_t topology_bytes = 0;          ///< Bytes of the whole topology in memory.
  int64_t scratch_bytes = 0;           ///< Maximum bytes of the scratch file; 0 if packs cannot be used.
  bool sampled = false;                ///< Whether samples are stored (SampleFile), so that no topology is
                                       ///< needed.
  std::span<const uint8_t> uses = {};  ///< Uses of each row, counted in some of the run's blocks.
  int64_t counted_blocks = 0;          ///< Number of blocks in which uses were counted; 0 if they were not
                                       ///< counted.
};

/// Divides a cache so that the fewest bytes are read and written per block. The estimate assumes that one
/// round over the rows serves all blocks of a window of planned blocks, in memory (InMemoryPrefetcher) or in
/// a scratch file (OnDiskPrefetcher). A group of blocks reads the topology once per hop, if it does not stay
/// in memory.
CacheShares divide_cache(const CacheInput& input);

}  // namespace plimsoll

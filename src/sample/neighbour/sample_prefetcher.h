#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "rows/row_counters.h"
#include "sample/neighbour/block_sampler.h"

namespace plimsoll {

/// Samples the blocks of a run in advance and has their rows read. It derives the next blocks from the last
/// one that was read (RunOrder). If a different block is read, prefetching restarts after that block, unless
/// it was read shortly before. Any number of threads may call it at once.
class SamplePrefetcher {
 public:
  /// Receives the sample of a block and returns the destination of its feature rows.
  using Place = std::function<std::byte*(const BlockSample& sample)>;

  virtual ~SamplePrefetcher() = default;
  /// Announces that this block will be read next. Drops all blocks that were prefetched, and restarts
  /// prefetching from it.
  virtual void expect(int64_t number) = 0;
  /// Waits until the rows of a block have been read. Returns false if the block was not sampled in advance or
  /// its rows were not read; `place` has then not been called, and the caller samples and reads the block.
  /// Errors: those of RowReader::read(), ScratchFile and `place`; Failure for a block that is larger than
  /// planned.
  virtual bool read(int64_t number, const Place& place) = 0;
  /// Returns the number of blocks that are sampled in advance and whose rows are planned or read.
  virtual int64_t planned() const = 0;
  virtual RowCounters counters() const = 0;
};

}  // namespace plimsoll

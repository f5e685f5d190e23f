#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "rows/row_counters.h"
#include "sample/neighbour/block_sampler.h"

namespace plimsoll {

/// Samples the blocks of a run ahead of whoever reads them, and has their rows read. The next blocks follow
/// from the last that was read (RunOrder). If another block is read, all starts again after that one, unless
/// it was read just before. Any number of threads may call it at once.
class SamplePrefetcher {
 public:
  /// Told what was sampled for a block; says where the rows of its nodes go.
  using Place = std::function<std::byte*(const BlockSample& sample)>;

  virtual ~SamplePrefetcher() = default;
  /// The next block that is read will be this one.
  virtual void expect(int64_t number) = 0;
  /// Waits for the rows of a block that are still being read. False: the block was not sampled ahead, or its
  /// rows were not read; the caller samples and reads it. Errors: those of RowReader::read().
  virtual bool read(int64_t number, const Place& place) = 0;
  /// Blocks that are sampled at this moment and whose rows are being read, or were.
  virtual int64_t planned() const = 0;
  virtual RowCounters counters() const = 0;
};

}  // namespace plimsoll

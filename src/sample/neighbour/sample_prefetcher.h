#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "rows/row_counters.h"
#include "sample/neighbour/block_sampler.h"

namespace plimsoll {

/// Blocks of a run that are sampled ahead of who reads them, with their rows on the way. Which blocks come is
/// known from the last that was read; one that does not come has all begin anew behind it, unless it was read
/// just before. Any number of threads may call it at once.
class SamplePrefetcher {
 public:
  /// Told what was sampled for a block; says where the rows of its nodes go.
  using Place = std::function<std::byte*(const BlockSample& sample)>;

  virtual ~SamplePrefetcher() = default;
  /// Waits for what of a block is still to be read. False: it did not come, or without its rows, and is the
  /// caller's to sample and to read. Errors: those of RowReader::read().
  virtual bool read(int64_t number, const Place& place) = 0;
  /// Blocks that are sampled at this moment and whose rows are being read, or were.
  virtual int64_t planned() const = 0;
  virtual RowCounters counters() const = 0;
};

}  // namespace plimsoll

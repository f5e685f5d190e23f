#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/fit/position.h"
#include "engine/fit/reading.h"
#include "sample/block/block_runner.h"

namespace plimsoll {

/// Measures what epochs cost: looks at counters of the block runner, of the source, of the ledger and of the
/// process, and adds nothing to a step. Not thread-safe.
class EpochMeter {
 public:
  /// `planned`: bytes, the peak of the process; `predicted`: what an epoch reads and writes. The runner and
  /// its source must outlive the meter.
  EpochMeter(const BlockRunner& runner, int64_t planned, const std::optional<ReadingCost>& predicted);
  ~EpochMeter();
  EpochMeter(const EpochMeter&) = delete;
  EpochMeter& operator=(const EpochMeter&) = delete;

  /// An epoch starts, or goes on, of which an earlier process did what cost `before`.
  void begin(const EpochCost& before);
  /// Samples the memory of the process, a few times a second however often it is called.
  void look();
  /// What the epoch has cost so far; `graphs` went through it in `seconds`.
  EpochCost cost(int64_t graphs, double seconds);
  /// How rows of features were read since begin(); none: the source keeps no count.
  std::optional<Reading> reading() const;

 private:
  const BlockRunner& runner_;
  const int64_t planned_;
  const ReadingCost predicted_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_look_;
  EpochCost before_;
  BlockRunner::Times times_before_;
  RowCounters rows_before_;
  int64_t reruns_before_ = 0;
  int64_t anonymous_ = 0;      // the most seen since begin()
  int64_t outer_recent_ = -1;  // the ledger's recent peak before the first epoch
};

/// What a run would gain by, from what its workers did in `seconds`: "memory" (fewer blocks in flight than
/// `threads`, or waiting for a range), "reading", "order", or "compute".
const char* what_binds(const BlockRunner::Times& did, double seconds, int workers, int threads);

}  // namespace plimsoll

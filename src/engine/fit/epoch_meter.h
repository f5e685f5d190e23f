#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/fit/device_meter.h"
#include "engine/fit/position.h"
#include "engine/fit/reading.h"
#include "sample/block/block_runner.h"

namespace plimsoll {

/// Measures the cost of epochs, from counters of the block runner, the source, the ledger and the process.
/// Does not slow down steps. Not thread-safe.
class EpochMeter {
 public:
  /// `planned` is the planned peak of the process in bytes; `predicted` is the predicted disk traffic of an
  /// epoch. The runner and its source must outlive the meter.
  EpochMeter(const BlockRunner& runner, int64_t planned, const std::optional<ReadingCost>& predicted,
             DeviceMeter device);
  ~EpochMeter();
  EpochMeter(const EpochMeter&) = delete;
  EpochMeter& operator=(const EpochMeter&) = delete;

  /// Starts an epoch, or continues one on which an earlier process has spent `before`.
  void begin(const EpochCost& before);
  /// Samples the memory of the process, at most ten times per second.
  void look();
  /// Returns the cost of the epoch so far, in which `graphs` graphs were processed in `seconds`.
  EpochCost cost(int64_t graphs, double seconds);
  /// Returns how feature rows were read since begin(); nullopt if the source does not count reads.
  std::optional<Reading> reading() const;

 private:
  const BlockRunner& runner_;
  const int64_t planned_;
  const ReadingCost predicted_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_look_;
  DeviceMeter device_;
  EpochCost before_;
  BlockRunner::Times times_before_;
  RowCounters rows_before_;
  int64_t reruns_before_ = 0;
  int64_t anonymous_ = 0;      // Maximum since begin().
  int64_t outer_recent_ = -1;  // The ledger's recent peak before the first epoch.
};

/// Returns the bottleneck of a run that lasted `seconds`, from the times of its workers: "memory" (workers
/// waited for a range, or fewer than `threads` blocks were in flight), "reading", "order", or "compute".
const char* bottleneck(const BlockRunner::Times& did, double seconds, int workers, int threads);

}  // namespace plimsoll

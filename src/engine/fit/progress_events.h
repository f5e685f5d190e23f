#pragma once

#include <chrono>
#include <cstdint>

#include "engine/fit/epoch_meter.h"
#include "engine/fit/fit.h"
#include "telemetry/journal.h"

namespace plimsoll {

/// Writes to the journal how far a stage is, its speed, the memory that it holds and what its workers wait
/// for: every second at first, later at intervals of a sixtieth of the elapsed time, up to 10 s. Not
/// thread-safe.
class ProgressEvents {
 public:
  /// All arguments must outlive the object.
  ProgressEvents(Journal& journal, const BlockRunner& runner, const RunOptions& run)
      : journal_(journal), runner_(runner), run_(run) {}

  /// Reports that `done` of `total` graphs are done, over all epochs.
  void report(const Position& position, int64_t done, int64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  Journal& journal_;
  const BlockRunner& runner_;
  const RunOptions& run_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  int64_t last_done_ = -1;
  BlockRunner::Times last_times_ = {};
};

}  // namespace plimsoll

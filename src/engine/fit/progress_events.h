#pragma once

#include <chrono>
#include <cstdint>

#include "engine/fit/epoch_meter.h"
#include "engine/fit/fit.h"
#include "telemetry/journal.h"

namespace plimsoll {

/// Tells the journal now and then how far a stage is, at what rate, what it holds and what its workers wait
/// for: each second at first, then whenever a sixtieth of the time has gone by, each 10 s at last. Not
/// thread-safe.
class ProgressEvents {
 public:
  /// All must outlive it.
  ProgressEvents(Journal& journal, const BlockRunner& runner, const RunOptions& run)
      : journal_(journal), runner_(runner), run_(run) {}

  /// `done` of `total` graphs, over all epochs.
  void tell(const Position& position, int64_t done, int64_t total);

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

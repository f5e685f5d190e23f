#pragma once

#include <cstdint>

#include "base/units.h"
#include "memory/budget_caps.h"
#include "memory/memory_share.h"
#include "memory/meter.h"

namespace plimsoll {

/// The memory of one of several stages that a process runs one after the other. Memory that earlier stages
/// left in the process outside the ledger, such as BLAS buffers, is not free for this stage: while the object
/// lives, the cap of the process's ledger is lower by these bytes. Not thread-safe; only one may exist at a
/// time.
class StageMemory {
 public:
  /// `memory` is the share of the first stage. If no part of it is outside the ledger, there is no budget,
  /// and the cap is not changed. Resets the ledger's recent peak.
  explicit StageMemory(const MemoryShare& memory);
  StageMemory(const StageMemory&) = delete;
  StageMemory& operator=(const StageMemory&) = delete;

  /// Returns the share of this stage: without the bytes that earlier stages left.
  MemoryShare share() const;
  /// Maximum additional memory that earlier stages may leave in another run, for example because the heap has
  /// holes in other places or more stages run. A stated budget includes it, so that no later stage of a run
  /// is refused.
  static constexpr int64_t kLeftVaries = kMiB;
  /// Maximum anonymous memory of the process since the stage started, in bytes, sampled.
  int64_t peak_anonymous() { return meter_.peak_anonymous(); }

 private:
  MemoryShare memory_;  // The share of the first stage.
  int64_t left_;        // Bytes that earlier stages left.
  BudgetCaps::Reservation beside_;
  Meter meter_;
};

}  // namespace plimsoll

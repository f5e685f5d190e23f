#pragma once

#include <cstdint>

#include "base/units.h"
#include "memory/budget_caps.h"
#include "memory/meter.h"

namespace plimsoll {

/// The memory of one of several stages that a process runs one after the other. What earlier stages left in
/// the process outside the ledger, such as BLAS buffers, is not free for this one: while the object lives,
/// the cap of the process's ledger is lower by that. Not thread-safe; one at a time.
class StageMemory {
 public:
  /// `outside_ledger` are the bytes of the budget that are not in the ledger, floor and slack; 0 means that
  /// there is no budget, and the cap stays. Starts the ledger's recent peak.
  explicit StageMemory(int64_t outside_ledger);
  StageMemory(const StageMemory&) = delete;
  StageMemory& operator=(const StageMemory&) = delete;

  /// Bytes that earlier stages left.
  int64_t left() const { return left_; }
  /// How much larger left() may be in another run, with holes in other places or after more stages. A stated
  /// budget includes it, so that no later stage of a run is refused.
  static constexpr int64_t kLeftVaries = kMiB;
  /// Maximum anonymous memory of the process since the stage started, in bytes, sampled.
  int64_t peak_anonymous() { return meter_.peak_anonymous(); }

 private:
  int64_t left_;
  BudgetCaps::Reservation beside_;
  Meter meter_;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>

#include "base/units.h"
#include "memory/budget_caps.h"
#include "memory/meter.h"

namespace plimsoll {

/// The memory of one of several stages that a process runs one after the other. What earlier ones left in the
/// process beside the ledger, such as rooms of the libraries that multiply, is not free for it: while it
/// lives, the cap of the ledger of the process is lower by that. Not thread-safe, one at a time.
class StageMemory {
 public:
  /// `outside_ledger`: bytes of the budget that the ledger does not have, floor and slack; 0: there is no
  /// budget, and nothing is taken away. Begins the ledger's recent peak.
  explicit StageMemory(int64_t outside_ledger);
  StageMemory(const StageMemory&) = delete;
  StageMemory& operator=(const StageMemory&) = delete;

  /// Bytes that earlier stages left.
  int64_t left() const { return left_; }
  /// By how much more it may be in another run: with holes in other places, or after more stages. A budget
  /// that is stated has room for it, so that no later stage of a run is refused.
  static constexpr int64_t kLeftVaries = kMiB;
  /// The highest anonymous memory of the process since the stage began, in bytes, sampled.
  int64_t peak_anonymous() { return meter_.peak_anonymous(); }

 private:
  int64_t left_;
  BudgetCaps::Reservation beside_;
  Meter meter_;
};

}  // namespace plimsoll

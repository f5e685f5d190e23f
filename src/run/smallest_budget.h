#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/plan/planner.h"
#include "engine/plan/rehearsal.h"
#include "memory/ledger.h"
#include "memory/memory_share.h"

namespace plimsoll {

/// The budget of a command, and how to report that it is too small.
struct StatedBudget {
  std::string purpose;  ///< Purpose of the work, such as "to evaluate runs/gat".
  MemoryShare memory;   ///< If its budget is 0, do_within() passes on errors of the work unchanged.
  /// Removes the limits that enforce the budget on the process.
  std::function<void()> release = [] {};
};

/// Rehearses the work within the cap of the ledger.
using Rehearse = std::function<void(Rehearsal& rehearsal)>;

/// Returns the smallest budget with which the work succeeds, in bytes. Errors: those of the work;
/// BudgetExceeded if the cap of the ledger is too low for the rehearsal.
int64_t budget_of(const Rehearse& rehearse, const MemoryShare& memory);

/// Returns the error for a budget that lacks at least `missing` bytes: BudgetTooSmall, which names the
/// smallest budget that works. Raises the cap of the ledger to the limits of the machine, permanently.
/// Errors: those of the work; BudgetExceeded if these limits are too low for the rehearsal.
BudgetTooSmall refusal_of(const StatedBudget& budget, int64_t missing, const Rehearse& rehearse);

/// Calls work() within a budget. Errors: those of the work; if the budget is too small, the one that
/// refusal_of() returns.
template <typename Work>
auto do_within(const StatedBudget& budget, const Work& work, const Rehearse& rehearse) {
  if (budget.memory.is_below_floor()) throw refusal_of(budget, 0, rehearse);
  int64_t missing = 0;
  try {
    return work();
  } catch (const BudgetTooSmall&) {  // Part of the work has refused the budget.
    if (budget.memory.budget == 0) throw;
  } catch (const BudgetExceeded& refusal) {
    if (budget.memory.budget == 0) throw;
    missing = refusal.bytes_missing();
  }
  throw refusal_of(budget, missing, rehearse);
}

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/plan/planner.h"
#include "engine/plan/rehearsal.h"
#include "memory/ledger.h"

namespace plimsoll {

/// The budget of a command, so that one that is too small is answered with one that works.
struct StatedBudget {
  std::string purpose;         ///< what is done within it: "to evaluate runs/gat"
  int64_t bytes = 0;           ///< 0: there is none, and refusals are those of the work
  int64_t outside_ledger = 0;  ///< bytes of it that the ledger does not have
  /// Ends what holds the process to the budget.
  std::function<void()> release = [] {};
};

/// Goes through some work that rehearses, within the cap of the ledger.
using Rehearse = std::function<void(Rehearsal& rehearsal)>;

/// The smallest budget with which the work works, in bytes. Errors: those of the work; BudgetExceeded where
/// the cap of the ledger does not do for the rehearsal.
int64_t budget_of(const Rehearse& rehearse, int64_t outside_ledger);

/// The answer to a budget that lacks `missing` bytes at least: BudgetTooSmall, which names the smallest
/// budget that works. The cap of the ledger is raised to the limits of the machine, for good. Errors: those
/// of the work; BudgetExceeded where these limits do not hold what it takes to find out.
BudgetTooSmall refusal_of(const StatedBudget& budget, int64_t missing, const Rehearse& rehearse);

/// Does work() within a budget. Errors: those of the work, but for a budget that is too small, which is
/// answered by refusal_of().
template <typename Work>
auto do_within(const StatedBudget& budget, const Work& work, const Rehearse& rehearse) {
  if (budget.bytes > 0 && budget.bytes <= budget.outside_ledger) throw refusal_of(budget, 0, rehearse);
  int64_t missing = 0;
  try {
    return work();
  } catch (const BudgetTooSmall&) {  // of a part of the work
    if (budget.bytes == 0) throw;
  } catch (const BudgetExceeded& refusal) {
    if (budget.bytes == 0) throw;
    missing = refusal.bytes_missing();
  }
  throw refusal_of(budget, missing, rehearse);
}

}  // namespace plimsoll

#include "run/smallest_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "memory/budget_caps.h"

namespace plimsoll {
namespace {

// A rehearsal writes zeros into reports and JSON; other numbers have longer texts.
constexpr int64_t kLongerFigures = 4 * kKiB;

}  // namespace

int64_t budget_of(const Rehearse& rehearse, const MemoryShare& memory) {
  Ledger& ledger = Ledger::process();
  ledger.begin_recent();
  Rehearsal rehearsal;
  rehearse(rehearsal);
  const int64_t held = memory.outside_ledger + ledger.recent_peak() + kLongerFigures;
  return std::max(rehearsal.budget(), memory.outside_ledger == 0 ? held : stated_budget(held));
}

BudgetTooSmall refusal_of(const StatedBudget& budget, int64_t missing, const Rehearse& rehearse) {
  budget.release();
  raise_cap_to_limits(budget.memory.outside_ledger);
  const int64_t needed = std::max(budget.memory.budget + missing, budget_of(rehearse, budget.memory));
  return BudgetTooSmall(fmt::format("{}, the smallest budget that works is {} bytes ({}); raise --budget",
                                    budget.purpose, needed, format_bytes(needed)));
}

}  // namespace plimsoll

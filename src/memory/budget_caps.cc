#include "memory/budget_caps.h"

#include <algorithm>

#include "base/mutex.h"
#include "base/units.h"
#include "memory/ledger.h"
#include "memory/limits.h"

namespace plimsoll {

int64_t budget_bytes(const std::string& text) {
  const std::vector<Limit> limits = find_limits();
  return text.empty() ? default_budget(limits) : parse_size(text, usable_memory(limits));
}

void raise_cap_to_limits(int64_t outside_ledger) {
  Ledger& ledger = Ledger::process();
  ledger.set_cap(std::max(ledger.cap(), usable_memory(find_limits()) - outside_ledger));
}

struct BudgetCaps::State {
  Mutex mutex;
  int64_t works PLIMSOLL_GUARDED_BY(mutex) = 0;
  int64_t bytes PLIMSOLL_GUARDED_BY(mutex) = 0;       // Sum of the budgets of all registered work.
  int64_t foundation PLIMSOLL_GUARDED_BY(mutex) = 0;  // Bytes that the ledger held when the first work began.
  int64_t limit PLIMSOLL_GUARDED_BY(mutex) = Ledger::kUnlimited;
  int64_t found PLIMSOLL_GUARDED_BY(mutex) = Ledger::kUnlimited;  // The cap that other code had set.
  // Sum of the bytes of all Reservation objects, by which the cap is lower.
  int64_t reserved PLIMSOLL_GUARDED_BY(mutex) = 0;
  int64_t applied PLIMSOLL_GUARDED_BY(mutex) = Ledger::kUnlimited;
  int lifted PLIMSOLL_GUARDED_BY(mutex) = 0;  // Number of Lifted objects alive.

  void apply() PLIMSOLL_REQUIRES(mutex) {
    if (lifted > 0) return;
    Ledger& ledger = Ledger::process();
    if (ledger.cap() != applied) found = ledger.cap();
    int64_t base = std::min(found, limit);
    if (base != Ledger::kUnlimited) base -= reserved;
    const int64_t under = std::min(foundation, base);
    applied = works == 0 ? base : under + std::min(bytes, base - under);
    ledger.set_cap(applied);
  }
};

BudgetCaps::BudgetCaps() : state_(*new State) {}  // Never destroyed, like the ledger.

BudgetCaps& BudgetCaps::process() {
  static auto& caps = *new BudgetCaps;
  return caps;
}

void BudgetCaps::add_work(int64_t bytes) {
  const MutexLock lock(state_.mutex);
  if (state_.works++ == 0) state_.foundation = Ledger::process().held();
  state_.bytes += bytes;
  state_.apply();
}

void BudgetCaps::remove_work(int64_t bytes) {
  const MutexLock lock(state_.mutex);
  --state_.works;
  state_.bytes -= bytes;
  state_.apply();
}

void BudgetCaps::reserve(int64_t bytes) {
  const MutexLock lock(state_.mutex);
  state_.reserved += bytes;
  state_.apply();
}

void BudgetCaps::lift() {
  const MutexLock lock(state_.mutex);
  state_.apply();
  if (state_.lifted++ == 0) Ledger::process().set_cap(usable_memory(find_limits()));
}

void BudgetCaps::settle() {
  const MutexLock lock(state_.mutex);
  if (--state_.lifted > 0) return;
  Ledger::process().set_cap(state_.applied);
  state_.apply();
}

void BudgetCaps::limit(int64_t cap) {
  const MutexLock lock(state_.mutex);
  state_.limit = cap;
  state_.apply();
}

}  // namespace plimsoll

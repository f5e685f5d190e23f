#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// Bytes of a budget's text, as for --budget; "" is the default budget of the command line. Errors:
/// UsageError.
int64_t budget_bytes(const std::string& text);

/// Raises the cap of the ledger to what the limits found (memory/limits.h) leave beside `outside_ledger`
/// bytes, for good; one above that stays.
void raise_cap_to_limits(int64_t outside_ledger);

/// Budgets of one process together, and the cap of its ledger that follows from them. Thread-safe.
class BudgetCaps {
 public:
  static BudgetCaps& process();

  /// One more piece of work with a budget of its own (BudgetScope).
  void add_work(int64_t bytes);
  void remove_work(int64_t bytes);
  /// What all of the ledger may hold, whatever work there is (ProcessBudget).
  void limit(int64_t cap);

  BudgetCaps(const BudgetCaps&) = delete;
  BudgetCaps& operator=(const BudgetCaps&) = delete;

 private:
  BudgetCaps();
  struct State;
  State& state_;
};

}  // namespace plimsoll

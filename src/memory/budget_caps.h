#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// Parses a budget in the format of --budget and returns bytes; a percentage is of usable_memory(), and "" is
/// the default budget of the command line. Errors: UsageError.
int64_t budget_bytes(const std::string& text);

/// Raises the cap of the ledger to the usable limit (memory/limits.h) minus `outside_ledger` bytes. A higher
/// cap is kept. The cap stays raised, except that budgets of BudgetCaps apply again when one of them changes.
void raise_cap_to_limits(int64_t outside_ledger);

/// Combines the budgets of one process into the cap of its ledger: the lower of the cap that other code has
/// set and that of limit(), minus all reservations. While work is registered, the cap is also at most the
/// bytes that the ledger held when the first work was registered, plus the budgets of all registered work.
/// Thread-safe.
class BudgetCaps {
 public:
  static BudgetCaps& process();

  /// Registers work that has its own budget (BudgetScope), until remove_work() is called with the same bytes.
  void add_work(int64_t bytes);
  void remove_work(int64_t bytes);
  /// Limits the whole ledger, regardless of the registered work (ProcessBudget). Replaces the last limit;
  /// Ledger::kUnlimited removes it.
  void limit(int64_t cap);

  /// For its lifetime, lowers the cap of the whole ledger by `bytes`, for memory that its owner allocates
  /// outside the ledger. It has no effect if the ledger has no such cap, or if the budgets of the registered
  /// work already give a lower one.
  class Reservation {
   public:
    explicit Reservation(int64_t bytes) : bytes_(bytes) { process().reserve(bytes_); }
    ~Reservation() { process().reserve(-bytes_); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

   private:
    const int64_t bytes_;
  };

  /// For its lifetime, suspends all budgets and sets the cap to the usable limit. Used to measure the budget
  /// that some work needs. Its destructor discards caps that other code has set in the meantime.
  class Lifted {
   public:
    Lifted() { process().lift(); }
    ~Lifted() { process().settle(); }
    Lifted(const Lifted&) = delete;
    Lifted& operator=(const Lifted&) = delete;
  };

  BudgetCaps(const BudgetCaps&) = delete;
  BudgetCaps& operator=(const BudgetCaps&) = delete;

 private:
  BudgetCaps();
  void reserve(int64_t bytes);
  void lift();
  void settle();
  struct State;
  State& state_;
};

}  // namespace plimsoll

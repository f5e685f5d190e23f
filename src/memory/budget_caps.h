#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// Parses a budget in the format of --budget and returns bytes; "" is the default budget of the command line.
/// Errors: UsageError.
int64_t budget_bytes(const std::string& text);

/// Raises the cap of the ledger to the usable limit (memory/limits.h) minus `outside_ledger` bytes. A higher
/// cap is kept. The new cap is permanent unless BudgetCaps has budgets.
void raise_cap_to_limits(int64_t outside_ledger);

/// Combines the budgets of one process into the cap of its ledger. Thread-safe.
class BudgetCaps {
 public:
  static BudgetCaps& process();

  /// Registers work that has its own budget (BudgetScope).
  void add_work(int64_t bytes);
  void remove_work(int64_t bytes);
  /// Limits the whole ledger, regardless of the registered work (ProcessBudget).
  void limit(int64_t cap);

  /// Lowers the ledger's cap by `bytes` for its lifetime, for memory that its owner allocates outside the
  /// ledger.
  class Reservation {
   public:
    explicit Reservation(int64_t bytes) : bytes_(bytes) { process().reserve(bytes_); }
    ~Reservation() { process().reserve(-bytes_); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

   private:
    const int64_t bytes_;
  };

  /// Suspends all budgets and raises the cap to the usable limit for its lifetime. Used to measure the budget
  /// that some work needs.
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

#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// Bytes of a budget's text, as for --budget; "" is the default budget of the command line. Errors:
/// UsageError.
int64_t budget_bytes(const std::string& text);

/// Raises the cap of the ledger to what the limits found (memory/limits.h) leave beside `outside_ledger`
/// bytes; one above that stays. It is for good, but where BudgetCaps has budgets.
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

  /// While it lives the ledger has so many bytes less: its owner takes them beside it.
  class Beside {
   public:
    explicit Beside(int64_t bytes) : bytes_(bytes) { process().add_beside(bytes_); }
    ~Beside() { process().add_beside(-bytes_); }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

   private:
    const int64_t bytes_;
  };

  /// While it lives no budget holds, and the ledger has what the limits found leave, to find out which budget
  /// works.
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
  void add_beside(int64_t bytes);
  void lift();
  void settle();
  struct State;
  State& state_;
};

}  // namespace plimsoll

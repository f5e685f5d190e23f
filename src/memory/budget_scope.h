#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// A budget for some work in a process that Plimsoll shares with other code. It bounds the bytes that the
/// work may enter in the ledger of the process, whatever else the process holds. Scopes that live at the same
/// time share the sum of their budgets. A scope never raises a cap that was set before it. Thread-safe.
class BudgetScope {
 public:
  /// `text` is a size in the format of --budget. "" is the default budget of the command line, but at most
  /// `max` unless that is 0. Errors: UsageError (not a size).
  explicit BudgetScope(const std::string& text, int64_t max = 0);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  int64_t bytes_;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// A budget for some work in a process that Plimsoll shares with other code. While scopes live, the ledger of
/// the process may hold at most the sum of their budgets in addition to what it held when the first of them
/// was constructed. Entries of other work count, too. A scope never raises a cap that was set before it.
/// Thread-safe.
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

#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// A budget for a piece of work in a process that is not ours alone: what the work may enter in the ledger of
/// the process, whatever else the process holds. Scopes that live at the same time have the sum of their
/// budgets together, and none of them lifts a cap that was there before. Thread-safe.
class BudgetScope {
 public:
  /// `text` as for --budget; "" is the default budget of the command line, at most `most` if that is not 0.
  /// Errors: UsageError (not a size).
  explicit BudgetScope(const std::string& text, int64_t max = 0);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  int64_t bytes_;
};

}  // namespace plimsoll

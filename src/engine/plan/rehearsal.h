#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll {

/// Finds the budget that a piece of work needs. Work that is given one holds what it would hold and plans
/// what it would run, but runs no block: zeros stand for what a model says.
class Rehearsal {
 public:
  /// A part of the work needs a budget of so many bytes.
  void need(int64_t budget) { budget_ = std::max(budget_, budget); }
  /// The most that any part needs.
  int64_t budget() const { return budget_; }

 private:
  int64_t budget_ = 0;
};

}  // namespace plimsoll

#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll {

/// Finds the budget that some work needs. Work with a rehearsal allocates and plans as in a run, but runs no
/// block: zeros replace the model's outputs.
class Rehearsal {
 public:
  /// Records that a part of the work needs a budget of `budget` bytes.
  void need(int64_t budget) { budget_ = std::max(budget_, budget); }
  /// Maximum budget over all parts.
  int64_t budget() const { return budget_; }

 private:
  int64_t budget_ = 0;
};

}  // namespace plimsoll

#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll {

/// Finds the budget that some work needs. Work with a rehearsal allocates and plans as in a run, but runs no
/// block: zeros replace the model's outputs. Not thread-safe.
class Rehearsal {
 public:
  /// Records that a part of the work needs a budget of `budget` bytes.
  void need(int64_t budget) { budget_ = std::max(budget_, budget); }
  /// Maximum budget over all parts.
  int64_t budget() const { return budget_; }

  /// Records that a rank sends at most `bytes` bytes to other ranks in a part of the work.
  void add_bytes_sent(int64_t bytes) { bytes_sent_ += bytes; }
  /// Sum over all parts.
  int64_t bytes_sent() const { return bytes_sent_; }

 private:
  int64_t budget_ = 0;
  int64_t bytes_sent_ = 0;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <optional>

namespace plimsoll {

/// The part of the machine that some work may use: bytes of memory, and threads that share them.
struct MemoryShare {
  int64_t budget = 0;          ///< Bytes; 0: no budget.
  int64_t outside_ledger = 0;  ///< Bytes of the budget that are not in the ledger: floor and slack.
  /// Bytes by which outside_ledger may be larger in another run. They are used only when the smallest
  /// sufficient budget is reported.
  int64_t outside_varies = 0;
  std::optional<int64_t> cap = {};  ///< Cap of the ledger; unset: the current cap.
  int threads = 1;                  ///< Maximum number of threads; the budget may allow fewer.

  /// Whether the budget leaves no byte for the ledger, so that nothing can start.
  bool is_below_floor() const { return budget > 0 && budget <= outside_ledger; }
};

}  // namespace plimsoll

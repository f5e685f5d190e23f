#pragma once

#include <cstdint>
#include <memory>

#include "memory/ledger.h"

namespace plimsoll {

/// A promise of memory, made before the memory is used (Ledger::reserve), that ends with its scope.
///
/// Its bytes stand in the ledger from the start. What its thread takes from that ledger comes out of them,
/// and what it gives back returns to them, so that nothing is counted twice. Where they do not suffice the
/// reservation grows by what is missing: at once or, if that would pass the cap, not at all. What is still
/// taken when it ends stays in the ledger like any other memory.
///
/// A thread has at most one, and it stays on that thread: it may be moved, but used and ended there alone.
/// What other threads take is not charged to it. They may give back what was taken in it, which is then free
/// for all.
class Reservation {
 public:
  /// Errors: BudgetExceeded, with nothing entered, if the sum would pass the cap; never waits.
  void grow(Tag tag, int64_t bytes);

  int64_t bytes() const { return promise_->bytes; }  ///< promised, with what it grew by
  int64_t used() const { return promise_->used; }    ///< of these taken now
  int64_t peak() const { return promise_->peak; }    ///< the most that was taken at once

 private:
  friend class Ledger;
  struct End {
    void operator()(Ledger::Promise* promise) const noexcept;
  };
  explicit Reservation(Ledger::Promise* promise) : promise_(promise) {}
  std::unique_ptr<Ledger::Promise, End> promise_;  // of this thread; none when moved from
};

}  // namespace plimsoll

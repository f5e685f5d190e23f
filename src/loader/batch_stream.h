#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "loader/batch_maker.h"

namespace plimsoll {

/// The batches of an epoch in order. A thread makes later batches while the user works with earlier ones. It
/// never waits for memory: after a refusal it pauses until the next batch is delivered. next() itself makes
/// batches that the thread could not make, for lack of memory or because of an error. So neither the thread
/// nor how far it is ahead changes a batch. next() is thread-safe: each batch is given to one caller.
class BatchStream {
 public:
  /// Starts with batch `first`. `ahead` is the maximum number of batches made ahead; if it is 0, there is no
  /// thread. Except for the first of them, these batches stay within BatchMemory::kAhead. `memory` is the
  /// memory that the maker uses.
  BatchStream(std::unique_ptr<BatchMaker> maker, int64_t first, int64_t ahead,
              std::shared_ptr<BatchMemory> memory);
  /// Ends the thread, after waiting for the batch that it is making. In a child of fork(), which has no such
  /// thread, it leaks everything.
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  /// Returns the next batch, nullopt after the last one. Errors, after which the same batch may be requested
  /// again: BudgetExceeded, without waiting, with the bytes of delivered batches in its message; InputError.
  std::optional<CollatedBatch> next();
  /// Number of batches.
  int64_t size() const;

 private:
  class State;
  std::unique_ptr<State> state_;
  pid_t process_;
};

}  // namespace plimsoll

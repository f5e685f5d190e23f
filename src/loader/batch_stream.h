#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "loader/batch_maker.h"

namespace plimsoll {

/// The batches of an epoch, one after the other. A thread makes coming ones while the user works with those
/// before. It never waits for memory: refused once, it rests until the next batch was delivered. What it
/// could not make, for want of memory or because of an error, next() makes itself: whether there is a thread,
/// and how far ahead it is, changes no batch. next() is thread-safe: each batch goes to one caller.
class BatchStream {
 public:
  /// Begins with batch `first`. `ahead`: the most batches that are made ahead; 0: no thread. Beyond the first
  /// of them they stay within BatchMemory::kAhead. `memory` is where the maker takes them from.
  BatchStream(std::unique_ptr<BatchMaker> maker, int64_t first, int64_t ahead,
              std::shared_ptr<BatchMemory> memory);
  /// Ends the thread; waits for the batch that it makes. In a child of fork(), which has no such thread, it
  /// leaves everything behind.
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  /// The next batch, or none after the last. Errors, after which the same batch may be asked for again:
  /// BudgetExceeded, at once, whose text says what delivered batches hold; InputError.
  std::optional<CollatedBatch> next();
  /// How many batches there are.
  int64_t size() const;

 private:
  class State;
  std::unique_ptr<State> state_;
  pid_t process_;
};

}  // namespace plimsoll

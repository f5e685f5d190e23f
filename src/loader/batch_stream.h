#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "loader/batch_maker.h"

namespace plimsoll {

/// Delivers the batches of an epoch in order. A thread makes later batches while the user processes earlier
/// ones. The thread never waits for memory: after a refusal it pauses until the next batch is delivered. A
/// batch that it could not make, for lack of memory or because of an error, is made by next(). Batches
/// therefore do not depend on the thread or on how far it is ahead. next() is thread-safe: each batch is
/// delivered to one caller. A child of fork() must not call it.
class BatchStream {
 public:
  /// Starts with batch `first`. `ahead` is the maximum number of batches made ahead; if it is 0, there is no
  /// thread. The batches made ahead have at most BatchMemory::kAhead bytes in total, or there is only one.
  /// `memory` is the memory that the maker uses.
  BatchStream(std::unique_ptr<BatchMaker> maker, int64_t first, int64_t ahead,
              std::shared_ptr<BatchMemory> memory);
  /// Waits for the batch that the thread is making, and ends the thread. A child of fork() has no such
  /// thread; there, the destructor leaks everything.
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  /// Returns the next batch, or nullopt after the last one. Errors: those of BatchMaker::make();
  /// BudgetExceeded comes at once, with the bytes of delivered batches in its message. After an error, the
  /// same batch may be requested again.
  std::optional<CollatedBatch> next();
  /// Number of batches.
  int64_t size() const;

 private:
  class State;
  std::unique_ptr<State> state_;
  pid_t process_;
};

}  // namespace plimsoll

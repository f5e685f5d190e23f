#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "memory/caching_allocator.h"
#include "memory/shrinker.h"

namespace plimsoll {

/// For its lifetime, a budget for everything this process holds, in a program that Plimsoll shares with other
/// code. The ledger's cap is the budget minus the anonymous memory outside the ledger (the interpreter,
/// libraries, earlier tensors). A thread measures the memory outside the ledger every 20 ms, so that the cap
/// falls when other code uses more. When a tensor is refused, freed memory that malloc keeps is first
/// returned to the system. If several budgets live at a time, the smallest cap applies. In a child of fork(),
/// the cap stays as it was. Thread-safe.
class ProcessBudget {
 public:
  /// `text` is a size in the format of --budget; "" is the default budget of the command line. Calls
  /// return_large_buffers(), which stays in force, and keeps freed tensors for reuse (CachingAllocator).
  /// Errors: UsageError (not a size); Error with exit code 4 if the process already holds more;
  /// ThreadRefused.
  explicit ProcessBudget(const std::string& text);
  ~ProcessBudget();
  ProcessBudget(const ProcessBudget&) = delete;
  ProcessBudget& operator=(const ProcessBudget&) = delete;

  /// Returns the highest sample of the process's anonymous memory, in bytes. A short peak may be missed.
  int64_t peak_anonymous();

  /// Returns malloc's freed memory to the system and measures again, so that past memory outside the ledger,
  /// such as freed memory that tensors reuse, no longer counts. Call it when all memory in the ledger has
  /// been written to: each byte in the ledger that was never touched hides a byte of other code from the
  /// measurement.
  void settle();

  /// Bytes of a budget that are kept free for page tables and for memory that other code allocates between
  /// two measurements: 8 MiB plus a fiftieth of the budget.
  static int64_t slack(int64_t budget);
  /// Returns the anonymous bytes of the process that are not in the ledger.
  static int64_t outside_ledger();

 private:
  /// Removes this budget's cap when it is destroyed.
  struct Registration {
    const ProcessBudget* budget;
    ~Registration();
  };
  void watch(const std::stop_token& stop);
  void measure();
  void trim();
  void apply() PLIMSOLL_REQUIRES(mutex_);

  int64_t bytes_;
  CachingAllocator::Keeping keeping_;
  const pid_t process_;
  Mutex mutex_;
  // Not destroyed in a child of fork(): the destructor would wait for a thread that does not exist in the
  // child.
  StoppableConditionVariable* stopped_ = new StoppableConditionVariable;
  int64_t floor_ PLIMSOLL_GUARDED_BY(mutex_) = 0;                  // Bytes outside the ledger at the start.
  std::array<int64_t, 64> outside_ PLIMSOLL_GUARDED_BY(mutex_){};  // The latest samples.
  size_t samples_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  int64_t peak_anonymous_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  Registration registration_{this};
  std::jthread thread_;
  std::unique_ptr<Shrinker> relief_;
};

}  // namespace plimsoll

#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>

#include "memory/scoped_cgroup.h"

namespace plimsoll {

/// Makes the kernel hold this process to a budget while it lives. What exceeds the budget is refused with an
/// error that refusals of the ledger share (BudgetExceeded, std::bad_alloc), never by a kill.
///
/// RLIMIT_DATA bounds the addresses of private writable memory, resident or not. It is the sum of the budget,
/// the amount by which such addresses exceed anonymous memory at the start, a stack for each thread to come,
/// and 16 MiB for memory that malloc takes and does not touch. The cgroup bounds resident memory with its
/// page cache: the budget and 64 MiB.
class Enforcement {
 public:
  /// `threads_to_come` is the maximum number of threads started from now on that run at a time, without those
  /// of ThreadStacks. Only one Enforcement may live at a time.
  Enforcement(int64_t budget, int threads_to_come);
  ~Enforcement();
  Enforcement(const Enforcement&) = delete;
  Enforcement& operator=(const Enforcement&) = delete;

  /// The soft limit in force, which may have been lower before; 0 if it was refused.
  int64_t rlimit_data() const { return rlimit_data_; }
  const ScopedCgroup& group() const { return group_; }

 private:
  ScopedCgroup group_;
  rlimit before_{};
  int64_t rlimit_data_ = 0;
};

/// Reserves the stacks of threads that an Enforcement did not count. It raises RLIMIT_DATA while it lives and
/// afterwards leaves as much as the C library caches of stacks for later threads. It does nothing without an
/// Enforcement, and never exceeds a limit that was in force before. Construct it before the threads.
/// Thread-safe.
class ThreadStacks {
 public:
  explicit ThreadStacks(int threads);
  ~ThreadStacks();
  ThreadStacks(const ThreadStacks&) = delete;
  ThreadStacks& operator=(const ThreadStacks&) = delete;

 private:
  int threads_;
};

/// Returns RLIMIT_DATA for a budget. `root` is the folder of /proc; tests pass a tree of their own.
int64_t data_limit(int64_t budget, int threads_to_come, const std::string& root = "");

}  // namespace plimsoll

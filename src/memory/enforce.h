#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>

#include "memory/scoped_cgroup.h"

namespace plimsoll {

/// While it lives the kernel holds this process to a budget, too: what would pass it is refused, as an error
/// that the ledger's refusals share (BudgetExceeded, std::bad_alloc), never by a kill.
///
/// RLIMIT_DATA bounds addresses for private memory that may be written, whether it is there or not: the
/// budget, what such addresses exceed anonymous memory by at the start, a stack for each thread to come, and
/// 16 MiB for pieces of malloc that are taken and not touched. The cgroup bounds memory that is there, with
/// its page cache: the budget and 64 MiB.
class Enforcement {
 public:
  /// `threads_to_come`: how many at once may be started from now on, those of ThreadStacks aside. One at a
  /// time.
  Enforcement(int64_t budget, int threads_to_come);
  ~Enforcement();
  Enforcement(const Enforcement&) = delete;
  Enforcement& operator=(const Enforcement&) = delete;

  /// The soft limit in force, which may have been lower before; 0 where it was refused.
  int64_t rlimit_data() const { return rlimit_data_; }
  const ScopedCgroup& group() const { return group_; }

 private:
  ScopedCgroup group_;
  rlimit before_{};
  int64_t rlimit_data_ = 0;
};

/// Room for the stacks of threads that an Enforcement was not told of: raises its RLIMIT_DATA while it lives,
/// and afterwards leaves as much as the C library keeps of stacks for threads to come. Does nothing where
/// there is no Enforcement, or the limit was lower before. Make it before the threads. Thread-safe.
class ThreadStacks {
 public:
  explicit ThreadStacks(int threads);
  ~ThreadStacks();
  ThreadStacks(const ThreadStacks&) = delete;
  ThreadStacks& operator=(const ThreadStacks&) = delete;

 private:
  int threads_;
};

/// RLIMIT_DATA for a budget. `root` is where /proc stands; tests give a tree of their own.
int64_t data_limit(int64_t budget, int threads_to_come, const std::string& root = "");

}  // namespace plimsoll

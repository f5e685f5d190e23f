#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>

#include "memory/scoped_cgroup.h"

namespace plimsoll {

/// Makes the kernel hold this process to a budget for the lifetime of the object. An allocation beyond the
/// budget fails with the same errors as one that the ledger refuses (BudgetExceeded, std::bad_alloc).
/// The two limits below are chosen so that RLIMIT_DATA is reached first: the allocation fails, and the kernel
/// need not end the process because of the cgroup.
///
/// RLIMIT_DATA bounds the addresses of private writable memory, resident or not. The limit is the sum of the
/// budget, the amount by which such addresses exceed anonymous memory at the start, a stack for each future
/// thread, and 16 MiB for memory that malloc reserves but does not touch. A cgroup bounds resident memory,
/// page cache included, to the budget plus 64 MiB.
class Enforcement {
 public:
  /// `budget` is in bytes. `threads_to_come` is the maximum number of threads that will be started from now
  /// on and run at the same time, excluding those of ThreadStacks. Only one Enforcement may live at a time. A
  /// limit that the kernel refuses is no error; see rlimit_data() and group(). Calls
  /// take_memory_in_small_steps(), which stays in force.
  Enforcement(int64_t budget, int threads_to_come);
  ~Enforcement();
  Enforcement(const Enforcement&) = delete;
  Enforcement& operator=(const Enforcement&) = delete;

  /// The soft limit in bytes that the constructor set, without the stacks of ThreadStacks; an earlier limit
  /// stays in force if it is lower. 0 if the kernel refused the limit.
  int64_t rlimit_data() const { return rlimit_data_; }
  const ScopedCgroup& group() const { return group_; }

 private:
  ScopedCgroup group_;
  rlimit before_{};
  int64_t rlimit_data_ = 0;
};

/// Reserves address space for the stacks of threads that an Enforcement did not count. It raises RLIMIT_DATA
/// for its lifetime. Its destructor keeps the part that the C library caches as stacks for later threads. It
/// does nothing without an Enforcement, and never exceeds a limit that was in force before. Construct it
/// before starting the threads. Thread-safe.
class ThreadStacks {
 public:
  explicit ThreadStacks(int threads);
  ~ThreadStacks();
  ThreadStacks(const ThreadStacks&) = delete;
  ThreadStacks& operator=(const ThreadStacks&) = delete;

 private:
  int threads_;
};

/// Returns the sum, in bytes, that Enforcement sets as RLIMIT_DATA. `root` is the folder that contains /proc;
/// tests pass their own tree.
int64_t data_limit(int64_t budget, int threads_to_come, const std::string& root = "");

}  // namespace plimsoll

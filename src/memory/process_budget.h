#pragma once

#include <sys/types.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "memory/caching_allocator.h"
#include "memory/shrinker.h"

namespace plimsoll {

/// A budget for all that this process holds, while it lives, in a program that is not ours alone: the
/// ledger's cap is what the budget leaves beside the anonymous memory that the ledger does not have (the
/// interpreter, libraries, tensors of before). A thread of its own measures that again every 20 ms, so that
/// the cap falls when others take more, and when a tensor is refused it gives back first what malloc keeps of
/// freed memory. Of several that live at once the smallest holds. Thread-safe.
class ProcessBudget {
 public:
  /// `text` as for --budget; "" is the default budget of the command line. Errors: UsageError (not a size);
  /// Error with exit code 4 where the process holds more already.
  explicit ProcessBudget(const std::string& text);
  ~ProcessBudget();
  ProcessBudget(const ProcessBudget&) = delete;
  ProcessBudget& operator=(const ProcessBudget&) = delete;

  /// The most of the process's anonymous memory that was seen, in bytes; a sample, so a short peak may be
  /// missed.
  int64_t peak_anonymous();

  /// Gives back what malloc keeps and measures anew: what was outside of the ledger before, such as freed
  /// memory that tensors take up again, counts no more. For a moment at which all that the ledger has was
  /// written to, as what nobody has touched yet hides as much of what others hold.
  void settle();

  /// Kept free of a budget so large for what is taken between two measurements, and page tables: 8 MiB and a
  /// fiftieth.
  static int64_t slack(int64_t budget);
  /// Anonymous bytes of the process that the ledger does not have.
  static int64_t outside_ledger();

 private:
  /// Its cap, among those of all that live, while it lives.
  struct Registration {
    const ProcessBudget* budget;
    ~Registration();
  };
  void watch(const std::stop_token& stop);
  void measure();
  void trim();
  void apply();  // with mutex_ held

  int64_t bytes_;
  CachingAllocator::Keeping keeping_;
  const pid_t process_;
  std::mutex mutex_;
  // Not ended in a child of fork(): that would wait for the thread that waits for it.
  std::condition_variable_any* stopped_ = new std::condition_variable_any;
  int64_t floor_ = 0;                  // outside of the ledger when it began
  std::array<int64_t, 64> outside_{};  // guarded by mutex_, as all below; the latest samples
  size_t samples_ = 0;
  int64_t peak_anonymous_ = 0;
  Registration registration_{this};
  std::jthread thread_;
  std::unique_ptr<Shrinker> relief_;
};

}  // namespace plimsoll

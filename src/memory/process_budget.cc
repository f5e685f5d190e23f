#include "memory/process_budget.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <latch>
#include <map>
#include <tuple>

#include "base/error.h"
#include "base/mutex.h"
#include "base/start_thread.h"
#include "base/units.h"
#include "memory/budget_caps.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"
#include "memory/meter.h"

namespace plimsoll {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(20);
// Minimum growth outside the ledger, in bytes, at which trimming malloc is worthwhile.
constexpr int64_t kTrimBeyond = kMiB;

/// The caps of all living budgets. The smallest one applies.
class BudgetCapsByOwner {
 public:
  void set(const ProcessBudget* budget, int64_t cap) {
    const MutexLock lock(mutex_);
    caps_[budget] = cap;
    apply();
  }
  void remove(const ProcessBudget* budget) {
    const MutexLock lock(mutex_);
    caps_.erase(budget);
    apply();
  }
  static BudgetCapsByOwner& process() {
    static auto& all = *new BudgetCapsByOwner;
    return all;
  }

 private:
  void apply() PLIMSOLL_REQUIRES(mutex_) {
    int64_t min = Ledger::kUnlimited;
    for (const auto& [budget, cap] : caps_) min = std::min(min, cap);
    BudgetCaps::process().limit(min);
  }
  Mutex mutex_;
  std::map<const ProcessBudget*, int64_t> caps_ PLIMSOLL_GUARDED_BY(mutex_);
};

}  // namespace

int64_t ProcessBudget::slack(int64_t budget) {
  return 8 * kMiB + budget / 50;
}

int64_t ProcessBudget::outside_ledger() {
  const Ledger& ledger = Ledger::process();
  // Memory that is being allocated or freed may for a moment be counted nowhere, or twice. It must not be
  // mistaken for memory of other code.
  int64_t min = INT64_MAX;
  for (int sample = 0; sample < 3; ++sample) {
    if (sample > 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    const int64_t before = ledger.held() + ledger.spare();
    const int64_t anonymous = process_memory().anonymous;
    const int64_t inside = std::max(before, ledger.held() + ledger.spare());
    min = std::min(min, std::max<int64_t>(anonymous - inside, 0));
  }
  return min;
}

ProcessBudget::Registration::~Registration() {
  if (getpid() == budget->process_) BudgetCapsByOwner::process().remove(budget);
}

ProcessBudget::ProcessBudget(const std::string& text) : bytes_(budget_bytes(text)), process_(getpid()) {
  // Freed memory is returned to the system, so that it does not count as memory of other code.
  return_large_buffers();
  give_back_freed_memory();
  floor_ = outside_ledger();
  const int64_t need = floor_ + slack(bytes_);
  if (need > bytes_)
    throw Error(4, fmt::format("budget {}: this process holds {} outside the ledger, and {} are kept free "
                               "for memory that it allocates between two measurements; give more than {}",
                               format_bytes(bytes_), format_bytes(floor_), format_bytes(slack(bytes_)),
                               format_bytes(need)));
  measure();
  // The thread allocates all the memory it needs before other code can use up the process's memory.
  std::latch started(1);
  thread_ = start_thread([this, &started](const std::stop_token& stop) {
    measure();
    started.count_down();
    watch(stop);
  });
  started.wait();
  relief_ = std::make_unique<Shrinker>([this] { trim(); });
}

ProcessBudget::~ProcessBudget() {
  // A child of fork() has neither this thread nor any thread that could unlock a Shrinker.
  if (getpid() != process_) {
    thread_.detach();
    std::ignore = relief_.release();
    return;
  }
  relief_.reset();
  thread_.request_stop();
  thread_.join();
  delete stopped_;
}

int64_t ProcessBudget::peak_anonymous() {
  // A child of fork() has no thread that would unlock a mutex locked during the fork.
  if (getpid() != process_) return process_memory().anonymous;
  measure();
  const MutexLock lock(mutex_);
  return peak_anonymous_;
}

void ProcessBudget::settle() {
  if (getpid() != process_) return;
  const MutexLock lock(mutex_);
  give_back_freed_memory();
  floor_ = outside_ledger();
  outside_.fill(floor_);
  apply();
}

void ProcessBudget::measure() {
  const MutexLock lock(mutex_);
  peak_anonymous_ = std::max(peak_anonymous_, process_memory().anonymous);
  int64_t now = outside_ledger();
  if (now > *std::ranges::max_element(outside_) + kTrimBeyond) {
    give_back_freed_memory();
    now = outside_ledger();
  }
  outside_[samples_++ % outside_.size()] = now;
  apply();
}

// Subtracts the bytes that malloc returned to the system from all samples, even if memory in the ledger is
// now untouched.
void ProcessBudget::trim() {
  if (getpid() != process_) return;
  const MutexLock lock(mutex_);
  const int64_t before = process_memory().anonymous;
  give_back_freed_memory();
  const int64_t back = std::max<int64_t>(before - process_memory().anonymous, 0);
  for (int64_t& sample : outside_) sample = std::max<int64_t>(sample - back, 0);
  apply();
}

void ProcessBudget::apply() {
  // The maximum of about a second, and at least the value at the start, because untouched memory of the
  // ledger hides the same amount of memory outside it. The cap is negative if other code holds more than the
  // budget, so that a refusal reports this.
  const int64_t outside = std::max(floor_, *std::ranges::max_element(outside_));
  BudgetCapsByOwner::process().set(this, bytes_ - slack(bytes_) - outside);
}

void ProcessBudget::watch(const std::stop_token& stop) {
  Mutex waiting;
  const MutexLock lock(waiting);
  while (!stopped_->wait_for(waiting, stop, kInterval, [] { return false; }) && !stop.stop_requested()) {
    try {
      measure();
      // No memory to read the kernel's files. The next measurement may succeed.
    } catch (const std::exception&) {
    }
  }
}

}  // namespace plimsoll

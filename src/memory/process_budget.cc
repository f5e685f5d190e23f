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
#include "base/start_thread.h"
#include "base/units.h"
#include "memory/budget_caps.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"
#include "memory/meter.h"

namespace plimsoll {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(20);
// What malloc keeps of small pieces is worth asking for from so many bytes on.
constexpr int64_t kTrimBeyond = kMiB;

/// What each budget that lives leaves to the ledger; the smallest holds.
class Leavings {
 public:
  void set(const ProcessBudget* budget, int64_t cap) {
    const std::lock_guard lock(mutex_);
    caps_[budget] = cap;
    apply();
  }
  void remove(const ProcessBudget* budget) {
    const std::lock_guard lock(mutex_);
    caps_.erase(budget);
    apply();
  }
  static Leavings& process() {
    static auto& all = *new Leavings;
    return all;
  }

 private:
  void apply() {
    int64_t min = Ledger::kUnlimited;
    for (const auto& [budget, cap] : caps_) min = std::min(min, cap);
    BudgetCaps::process().limit(min);
  }
  std::mutex mutex_;
  std::map<const ProcessBudget*, int64_t> caps_;
};

}  // namespace

int64_t ProcessBudget::slack(int64_t budget) {
  return 8 * kMiB + budget / 50;
}

int64_t ProcessBudget::outside_ledger() {
  const Ledger& ledger = Ledger::process();
  // What is being taken or given back may stand in neither, or in both, for a moment: it must not be taken
  // for another's memory.
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
  if (getpid() == budget->process_) Leavings::process().remove(budget);
}

ProcessBudget::ProcessBudget(const std::string& text) : bytes_(budget_bytes(text)), process_(getpid()) {
  // What is freed goes back, so that nobody holds it.
  return_large_buffers();
  give_back_freed_memory();
  floor_ = outside_ledger();
  const int64_t need = floor_ + slack(bytes_);
  if (need > bytes_)
    throw Error(
        4, fmt::format(
               "budget {}: this process holds {} outside of the ledger, and {} are kept free for what it "
               "takes unseen; give more than {}",
               format_bytes(bytes_), format_bytes(floor_), format_bytes(slack(bytes_)), format_bytes(need)));
  measure();
  // It has all it needs of memory before anything else of the process may run out of it.
  std::latch begun(1);
  thread_ = start_thread([this, &begun](const std::stop_token& stop) {
    measure();
    begun.count_down();
    watch(stop);
  });
  begun.wait();
  relief_ = std::make_unique<Shrinker>([this] { trim(); });
}

ProcessBudget::~ProcessBudget() {
  if (getpid() != process_) {  // a child of fork() has no such thread, nor one that would unlock a Shrinker
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
  // A child of fork() has no thread that would unlock what was locked when it began.
  if (getpid() != process_) return process_memory().anonymous;
  measure();
  const std::lock_guard lock(mutex_);
  return peak_anonymous_;
}

void ProcessBudget::settle() {
  if (getpid() != process_) return;
  const std::lock_guard lock(mutex_);
  give_back_freed_memory();
  floor_ = outside_ledger();
  outside_.fill(floor_);
  apply();
}

void ProcessBudget::measure() {
  const std::lock_guard lock(mutex_);
  peak_anonymous_ = std::max(peak_anonymous_, process_memory().anonymous);
  int64_t now = outside_ledger();
  if (now > *std::ranges::max_element(outside_) + kTrimBeyond) {
    give_back_freed_memory();
    now = outside_ledger();
  }
  outside_[samples_++ % outside_.size()] = now;
  apply();
}

// What malloc gives back is in none of the samples any more, however much of the ledger's is untouched now.
void ProcessBudget::trim() {
  if (getpid() != process_) return;
  const std::lock_guard lock(mutex_);
  const int64_t before = process_memory().anonymous;
  give_back_freed_memory();
  const int64_t back = std::max<int64_t>(before - process_memory().anonymous, 0);
  for (int64_t& sample : outside_) sample = std::max<int64_t>(sample - back, 0);
  apply();
}

void ProcessBudget::apply() {
  // The most of a second, and never less than at the begin: what the ledger has and nobody has touched yet
  // hides as much that it has not. Below zero is what others hold beyond the budget, so that a refusal says
  // so.
  const int64_t outside = std::max(floor_, *std::ranges::max_element(outside_));
  Leavings::process().set(this, bytes_ - slack(bytes_) - outside);
}

void ProcessBudget::watch(const std::stop_token& stop) {
  std::mutex waiting;
  std::unique_lock lock(waiting);
  while (!stopped_->wait_for(lock, stop, kInterval, [] { return false; }) && !stop.stop_requested()) {
    try {
      measure();
    } catch (const std::exception&) {  // no memory to read what the kernel says: the next time, then
    }
  }
}

}  // namespace plimsoll

#include "memory/process_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.h"
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
    int64_t least = Ledger::kUnlimited;
    for (const auto& [budget, cap] : caps_) least = std::min(least, cap);
    BudgetCaps::process().limit(least);
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
  const int64_t inside = ledger.held() + ledger.spare();
  return std::max<int64_t>(process_memory().anonymous - inside, 0);
}

ProcessBudget::ProcessBudget(const std::string& text) : bytes_(budget_bytes(text)) {
  // What is freed goes back, so that nobody holds it.
  return_large_buffers();
  give_back_freed_memory();
  outside_ = outside_ledger();
  const int64_t need = outside_ + slack(bytes_);
  if (need > bytes_)
    throw Error(
        4,
        fmt::format("budget {}: this process holds {} outside of the ledger, and {} are kept free for what "
                    "it takes unseen; give more than {}",
                    format_bytes(bytes_), format_bytes(outside_), format_bytes(slack(bytes_)),
                    format_bytes(need)));
  measure();
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

ProcessBudget::~ProcessBudget() {
  thread_.request_stop();
  thread_.join();
  Leavings::process().remove(this);
}

int64_t ProcessBudget::peak_anonymous() {
  measure();
  const std::lock_guard lock(mutex_);
  return peak_anonymous_;
}

void ProcessBudget::measure() {
  const std::lock_guard lock(mutex_);
  peak_anonymous_ = std::max(peak_anonymous_, process_memory().anonymous);
  int64_t now = outside_ledger();
  if (now > outside_ + kTrimBeyond) {
    give_back_freed_memory();
    now = outside_ledger();
  }
  // Never less than before: what the ledger has and nobody has touched yet hides as much that it has not.
  outside_ = std::max(outside_, now);
  Leavings::process().set(this, std::max<int64_t>(bytes_ - slack(bytes_) - outside_, 0));
}

void ProcessBudget::watch(const std::stop_token& stop) {
  std::mutex waiting;
  std::unique_lock lock(waiting);
  while (!stopped_.wait_for(lock, stop, kInterval, [] { return false; }) && !stop.stop_requested()) measure();
}

}  // namespace plimsoll

#include "memory/enforce.h"

#include <algorithm>

#include "base/mutex.h"
#include "base/units.h"
#include "memory/c_heap.h"
#include "memory/meter.h"
#include "memory/stack_bytes.h"

namespace plimsoll {
namespace {

constexpr int64_t kUntouched = 16 * kMiB;
constexpr int64_t kPageCache = 64 * kMiB;

// The state of the living Enforcement, and of threads that it did not count.
Mutex enforce_mutex;
struct EnforcementState {
  int64_t limit = 0;  // RLIMIT_DATA without those threads; 0 without an Enforcement.
  rlim_t hard = 0;    // The hard limit from before, which is never exceeded.
  int now = 0;
  int max = 0;
};
EnforcementState enforcement PLIMSOLL_GUARDED_BY(enforce_mutex);

void set_limit() PLIMSOLL_REQUIRES(enforce_mutex) {
  if (enforcement.limit == 0) return;
  constexpr int64_t kKeptByLibc = 40 * kMiB;  // Size of the stack cache of glibc (nptl).
  const int64_t stack = stack_bytes();
  const int64_t stacks = std::max(enforcement.now * stack, std::min(enforcement.max * stack, kKeptByLibc));
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min(enforcement.hard, static_cast<rlim_t>(enforcement.limit + stacks));
  setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace

ThreadStacks::ThreadStacks(int threads) : threads_(threads) {
  const MutexLock lock(enforce_mutex);
  enforcement.now += threads_;
  enforcement.max = std::max(enforcement.max, enforcement.now);
  set_limit();
}

ThreadStacks::~ThreadStacks() {
  const MutexLock lock(enforce_mutex);
  enforcement.now -= threads_;
  set_limit();
}

int64_t data_limit(int64_t budget, int threads_to_come, const std::string& root) {
  const int64_t addresses = read_field(root + "/proc/self/status", "VmData").value_or(0) * kKiB;
  const int64_t unused = std::max<int64_t>(addresses - process_memory(root).anonymous, 0);
  return budget + unused + threads_to_come * stack_bytes() + kUntouched;
}

Enforcement::Enforcement(int64_t budget, int threads_to_come) : group_(budget + kPageCache) {
  take_memory_in_small_steps();
  if (getrlimit(RLIMIT_DATA, &before_) != 0) return;
  const MutexLock lock(enforce_mutex);
  rlimit limit = before_;
  limit.rlim_cur =
      std::min<rlim_t>(before_.rlim_cur, static_cast<rlim_t>(data_limit(budget, threads_to_come)));
  if (setrlimit(RLIMIT_DATA, &limit) != 0) return;
  rlimit_data_ = static_cast<int64_t>(limit.rlim_cur);
  enforcement.limit = rlimit_data_;
  enforcement.hard = before_.rlim_cur;
  enforcement.max = enforcement.now;
}

Enforcement::~Enforcement() {
  if (rlimit_data_ == 0) return;
  const MutexLock lock(enforce_mutex);
  enforcement.limit = 0;
  setrlimit(RLIMIT_DATA, &before_);
}

}  // namespace plimsoll

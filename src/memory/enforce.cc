#include "memory/enforce.h"

#include <pthread.h>

#include <algorithm>

#include "base/units.h"
#include "memory/c_heap.h"
#include "memory/meter.h"

namespace plimsoll {
namespace {

constexpr int64_t kUntouched = 16 * kMiB;
constexpr int64_t kPageCache = 64 * kMiB;

// What the next thread gets, touched or not.
int64_t stack_bytes() {
  pthread_attr_t attributes;
  size_t bytes = 8 * kMiB;
  if (pthread_attr_init(&attributes) != 0) return static_cast<int64_t>(bytes);
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return static_cast<int64_t>(bytes);
}

}  // namespace

int64_t data_limit(int64_t budget, int threads_to_come, const std::string& root) {
  const int64_t addresses = read_field(root + "/proc/self/status", "VmData").value_or(0) * kKiB;
  const int64_t unused = std::max<int64_t>(addresses - process_memory(root).anonymous, 0);
  return budget + unused + threads_to_come * stack_bytes() + kUntouched;
}

Enforcement::Enforcement(int64_t budget, int threads_to_come) : group_(budget + kPageCache) {
  take_memory_in_small_steps();
  if (getrlimit(RLIMIT_DATA, &before_) != 0) return;
  rlimit limit = before_;
  limit.rlim_cur =
      std::min<rlim_t>(before_.rlim_cur, static_cast<rlim_t>(data_limit(budget, threads_to_come)));
  if (setrlimit(RLIMIT_DATA, &limit) == 0) rlimit_data_ = static_cast<int64_t>(limit.rlim_cur);
}

Enforcement::~Enforcement() {
  if (rlimit_data_ > 0) setrlimit(RLIMIT_DATA, &before_);
}

}  // namespace plimsoll

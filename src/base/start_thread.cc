#include "base/start_thread.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "base/units.h"

namespace plimsoll {
namespace {

std::optional<int64_t> limit_of(__rlimit_resource_t resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(limit.rlim_cur);
}

int64_t stack_bytes() {
  size_t bytes = 8 << 20;
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
  }
  return static_cast<int64_t>(bytes);
}

// Pages of this process: its address space, and its data including stacks (proc(5), statm).
struct Pages {
  int64_t all = 0;
  int64_t data = 0;
};

Pages pages_held() {
  Pages pages;
  int64_t other = 0;
  std::ifstream("/proc/self/statm") >> pages.all >> other >> other >> other >> other >> pages.data;
  return pages;
}

// Returns all limits in force, memory first. The system does not report which one was reached, and every
// system limits the number of processes.
std::string limits_in_force() {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const Pages pages = pages_held();
  std::string limits;
  const auto add = [&](const std::string& text) { limits += (limits.empty() ? "" : ", ") + text; };
  const auto add_memory = [&](const char* name, std::optional<int64_t> limit, int64_t held) {
    if (limit) add(fmt::format("{} {} with {} in use", name, format_bytes(*limit), format_bytes(held)));
  };
  add_memory("address space (ulimit -v)", limit_of(RLIMIT_AS), pages.all * page);
  add_memory("data (ulimit -d)", limit_of(RLIMIT_DATA), pages.data * page);
  if (const auto processes = limit_of(RLIMIT_NPROC))
    add(fmt::format("processes and threads (ulimit -u) {}", *processes));
  return limits.empty() ? "none for this process, so perhaps pids.max of its cgroup" : limits;
}

}  // namespace

ThreadRefused::ThreadRefused(const std::system_error& error)
    : Error(4, fmt::format("the system refused to start another thread ({}), whose stack needs {}; limits: "
                           "{}; raise the one that is "
                           "reached, or lower --threads",
                           error.code().message(), format_bytes(stack_bytes()), limits_in_force())) {}

}  // namespace plimsoll

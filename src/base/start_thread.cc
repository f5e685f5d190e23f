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

// Of this process: pages of address space, and of data with its stacks (proc(5), statm).
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

std::string likeliest_limit() {
  const int64_t stack = stack_bytes();
  const int64_t page = sysconf(_SC_PAGESIZE);
  const Pages pages = pages_held();
  const auto memory = [&](const char* name, int64_t limit, int64_t held) {
    return fmt::format("the limit on {} is {}, {} are in use and a stack takes {}", name, format_bytes(limit),
                       format_bytes(held), format_bytes(stack));
  };
  const auto space = limit_of(RLIMIT_AS);
  if (space && pages.all * page + stack > *space)
    return memory("address space (ulimit -v)", *space, pages.all * page);
  const auto data = limit_of(RLIMIT_DATA);
  if (data && pages.data * page + stack > *data) return memory("data (ulimit -d)", *data, pages.data * page);
  const auto processes = limit_of(RLIMIT_NPROC);
  if (processes) return fmt::format("the limit on processes and threads (ulimit -u) is {}", *processes);
  return "the limit on processes may be that of the cgroup (pids.max)";
}

}  // namespace

ThreadRefused::ThreadRefused(const std::system_error& error)
    : Error(4, fmt::format("the system started no further thread ({}): {}; raise it, or lower --threads",
                           error.code().message(), likeliest_limit())) {}

}  // namespace plimsoll

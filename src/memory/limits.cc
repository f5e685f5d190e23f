#include "memory/limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/units.h"
#include "memory/cgroup.h"
#include "memory/meter.h"
#include "memory/stack_bytes.h"

namespace plimsoll {
namespace {

// Returns the product; nullopt if a factor is missing or the product overflows.
std::optional<int64_t> product(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t value = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &value) || value >= kNoLimit) return std::nullopt;
  return value;
}

void add_slurm(std::vector<Limit>& limits) {
  // SLURM's unit is MiB. Reading the value as MB errs on the safe side.
  constexpr int64_t kMB = 1000 * 1000;
  const auto number = [](const char* name) -> std::optional<int64_t> {
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : parse_limit(text);
  };
  const auto add = [&](const char* source, std::optional<int64_t> mb) {
    if (const auto bytes = product(mb, kMB)) limits.push_back({source, *bytes});
  };
  add("SLURM_MEM_PER_NODE", number("SLURM_MEM_PER_NODE"));
  add("SLURM_MEM_PER_CPU x SLURM_CPUS_ON_NODE",
      product(number("SLURM_MEM_PER_CPU"), number("SLURM_CPUS_ON_NODE")));
  add("SLURM_MEM_PER_GPU x SLURM_GPUS_ON_NODE",
      product(number("SLURM_MEM_PER_GPU"), number("SLURM_GPUS_ON_NODE")));
}

void add_cgroups(const std::string& root, int64_t own, std::vector<Limit>& limits) {
  for (const MemoryGroup& group : memory_groups(root))
    if (const auto limit = group.limit())
      limits.push_back({group.name(), *limit, std::max<int64_t>(group.anonymous() - own, 0)});
}

// The limits of the shell count address space: stacks of threads and, in RLIMIT_AS, also programs, libraries
// and the heap that glibc reserves for each thread (HEAP_MAX_SIZE in malloc/arena.c).
void add_rlimits(std::vector<Limit>& limits, int64_t own) {
  constexpr int64_t kHeapBytes = 64 * kMiB;
  const int64_t threads = std::max(1U, std::thread::hardware_concurrency());
  const int64_t mapped = product(read_field("/proc/self/status", "VmSize"), kKiB).value_or(own);
  const auto add = [&](const char* name, auto resource, int64_t reserved) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur < static_cast<rlim_t>(kNoLimit))
      limits.push_back({name, static_cast<int64_t>(limit.rlim_cur), reserved});
  };
  add("RLIMIT_DATA", RLIMIT_DATA, threads * stack_bytes());
  add("RLIMIT_AS", RLIMIT_AS, threads * (stack_bytes() + kHeapBytes) + std::max<int64_t>(mapped - own, 0));
}

}  // namespace

std::vector<Limit> find_limits(const std::string& root) {
  std::vector<Limit> limits;
  const int64_t own = process_memory().anonymous;
  add_slurm(limits);
  add_cgroups(root, own, limits);
  add_rlimits(limits, own);
  const std::string meminfo = root + "/proc/meminfo";
  const auto total = product(read_field(meminfo, "MemTotal"), kKiB);
  const auto available = product(read_field(meminfo, "MemAvailable"), kKiB);
  if (total && *total > 0 && available)
    limits.push_back({"MemAvailable", *total, std::max<int64_t>(*total - *available - own, 0)});
  return limits;
}

int64_t usable_memory(const std::vector<Limit>& limits) {
  int64_t min = kNoLimit;
  for (const Limit& limit : limits) min = std::min(min, limit.usable());
  return min;
}

int64_t default_budget(const std::vector<Limit>& limits) {
  const int64_t usable = usable_memory(limits);
  return std::max({usable - 64 * kMiB, usable / 2, kMiB});
}

}  // namespace plimsoll

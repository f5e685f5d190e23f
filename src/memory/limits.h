#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

/// A bound on the memory of this process, and where it is set.
struct Limit {
  /// Examples: "SLURM_MEM_PER_NODE", "cgroup v1 /slurm/job_7", "RLIMIT_DATA", "MemAvailable".
  std::string source;
  int64_t bytes = 0;  ///< The limit itself.
  /// Part of the limit that this process cannot use: memory that other processes hold or, for the limits of
  /// the shell, address space that cannot hold data, such as stacks of threads.
  int64_t others = 0;
  int64_t usable() const { return bytes - others; }
};

/// Returns every bound that applies: SLURM's variables, memory cgroups v1 and v2 with all parents,
/// RLIMIT_DATA and RLIMIT_AS, and the memory that the system has available. Never empty on Linux. `root` is
/// the folder that contains /proc and /sys; tests pass their own tree.
std::vector<Limit> find_limits(const std::string& root = "");

/// Returns the maximum bytes this process may use: the minimum usable() of the limits, which may be negative;
/// kNoLimit without limits.
int64_t usable_memory(const std::vector<Limit>& limits);

/// Returns the default budget in bytes: usable_memory() minus 64 MiB for the page cache, or half of
/// usable_memory() if it is below 128 MiB, and at least 1 MiB.
int64_t default_budget(const std::vector<Limit>& limits);

}  // namespace plimsoll

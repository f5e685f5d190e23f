#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

/// One bound on the memory of this process and where it was found.
struct Limit {
  std::string source;  ///< "SLURM_MEM_PER_NODE", "cgroup v1 /slurm/job_7", "RLIMIT_DATA", "MemAvailable"
  int64_t bytes = 0;   ///< the limit itself
  int64_t others = 0;  ///< what other processes hold of it
  int64_t usable() const { return bytes - others; }
};

/// Every bound that applies: SLURM's variables, memory cgroups v1 and v2 with all parents, RLIMIT_DATA and
/// RLIMIT_AS, and the memory that the system has to give. Never empty on Linux. `root` is where /proc and
/// /sys stand; tests give a tree of their own.
std::vector<Limit> find_limits(const std::string& root = "");

/// What this process may use at most: the least usable limit, in bytes.
int64_t usable_memory(const std::vector<Limit>& limits);

/// The default budget, in bytes: the least usable limit, less 64 MiB for the page cache, and half of one
/// below 128 MiB.
int64_t default_budget(const std::vector<Limit>& limits);

}  // namespace plimsoll

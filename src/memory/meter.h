#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

namespace plimsoll {

/// Memory that this process holds, in bytes, as the kernel reports it (proc_pid_status(5)).
struct ProcessMemory {
  int64_t anonymous = 0;    ///< RssAnon, which a budget bounds; 0 only if the system does not report it.
  int64_t file_backed = 0;  ///< RssFile: mapped page cache, which the kernel can reclaim.
  int64_t shared = 0;       ///< RssShmem: shared anonymous memory and tmpfs.
};

/// Returns zeros if the system reports nothing. `root` is the folder that contains /proc; tests pass their
/// own tree.
ProcessMemory process_memory(const std::string& root = "");

/// Bytes charged to the memory cgroup of this process: all its processes, page cache included.
struct CgroupMemory {
  std::string source;           ///< Name as in Limit: "cgroup v1 /slurm/job_7".
  int64_t bytes = 0;            ///< From memory.usage_in_bytes or memory.current.
  std::optional<int64_t> peak;  ///< Peak since the group was made. v2 reports it from Linux 5.19.
};

/// Returns the nearest group that counts memory, or nullopt if the system shows none.
std::optional<CgroupMemory> cgroup_memory(const std::string& root = "");

/// Samples the anonymous memory of the process every 20 ms on a separate thread.
class Meter {
 public:
  /// Takes the first sample and starts the thread. Errors: ThreadRefused.
  Meter();
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  /// Anonymous memory in bytes when the meter was constructed. Construct the meter before loading data, so
  /// that the floor excludes the data.
  int64_t floor() const { return floor_; }
  /// Takes a sample and returns the highest anonymous memory so far, in bytes. A short peak may be missed.
  /// Thread-safe.
  int64_t peak_anonymous();

 private:
  void sample();
  const int64_t floor_;
  std::atomic<int64_t> peak_;
  std::jthread thread_;
};

}  // namespace plimsoll

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

namespace plimsoll {

/// What the kernel says this process holds, in bytes (proc_pid_status(5)).
struct ProcessMemory {
  int64_t anonymous = 0;    ///< RssAnon: what a budget is about; 0 only where the system does not say
  int64_t file_backed = 0;  ///< RssFile: page cache that is mapped, elastic
  int64_t shared = 0;       ///< RssShmem: shared anonymous memory and tmpfs
};

/// Zeros where the system does not say. `root` is where /proc stands; tests give a tree of their own.
ProcessMemory process_memory(const std::string& root = "");

/// What the memory cgroup of this process is charged, in bytes: all its processes, page cache included.
struct CgroupMemory {
  std::string source;           ///< "cgroup v1 /slurm/job_7", named as in Limit
  int64_t bytes = 0;            ///< memory.usage_in_bytes, memory.current
  std::optional<int64_t> peak;  ///< since the group was made; v2 has it from Linux 5.19
};

/// The nearest group that counts memory; none where the system shows none.
std::optional<CgroupMemory> cgroup_memory(const std::string& root = "");

/// Samples the anonymous memory of the process on a thread of its own, every 20 ms.
class Meter {
 public:
  Meter();
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  /// The anonymous memory when the meter was made, in bytes: before any data, if it is made before.
  int64_t floor() const { return floor_; }
  /// The highest anonymous memory seen so far, in bytes; a sample, so a short peak may be missed.
  int64_t peak_anonymous();

 private:
  void sample();
  const int64_t floor_;
  std::atomic<int64_t> peak_;
  std::jthread thread_;
};

}  // namespace plimsoll

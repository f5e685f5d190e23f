#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace plimsoll {

/// What the kernel says this process holds, in bytes (proc_pid_status(5)).
struct ProcessMemory {
  int64_t anonymous = 0;    ///< RssAnon: what a budget is about
  int64_t file_backed = 0;  ///< RssFile: page cache that is mapped, elastic
  int64_t shared = 0;       ///< RssShmem
};

/// Zeros where /proc cannot be read.
ProcessMemory process_memory();

/// Samples the anonymous memory of the process on a thread of its own, every 20 ms.
class Meter {
 public:
  Meter();
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  /// The highest anonymous memory seen so far, in bytes; a sample, so a short peak may be missed.
  int64_t peak_anonymous();

 private:
  void sample();
  std::atomic<int64_t> peak_{0};
  std::jthread thread_;
};

}  // namespace plimsoll

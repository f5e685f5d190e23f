#include "memory/meter.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>

#include "base/mutex.h"
#include "base/start_thread.h"
#include "memory/cgroup.h"

namespace plimsoll {

ProcessMemory process_memory(const std::string& root) {
  ProcessMemory memory;
  std::ifstream status(root + "/proc/self/status");
  std::string key;
  for (std::string line; status >> key && std::getline(status, line);) {
    int64_t* const bytes = key == "RssAnon:"    ? &memory.anonymous
                           : key == "RssFile:"  ? &memory.file_backed
                           : key == "RssShmem:" ? &memory.shared
                                                : nullptr;
    if (bytes != nullptr) *bytes = std::strtoll(line.c_str(), nullptr, 10) * 1024;
  }
  return memory;
}

std::optional<CgroupMemory> cgroup_memory(const std::string& root) {
  // The nearest group does not necessarily count memory.
  for (const MemoryGroup& group : memory_groups(root))
    if (const auto bytes = group.number(group.v2 ? "memory.current" : "memory.usage_in_bytes"))
      return CgroupMemory{.source = group.name(),
                          .bytes = *bytes,
                          .peak = group.number(group.v2 ? "memory.peak" : "memory.max_usage_in_bytes")};
  return std::nullopt;
}

Meter::Meter() : floor_(process_memory().anonymous), peak_(floor_) {
  thread_ = start_thread([this](const std::stop_token& stop) {
    Mutex mutex;
    StoppableConditionVariable wake;
    const MutexLock lock(mutex);
    while (!wake.wait_for(mutex, stop, std::chrono::milliseconds(20), [&] { return stop.stop_requested(); }))
      try {
        sample();
        // No memory to read the kernel's files. The next sample may succeed.
      } catch (const std::exception&) {
      }
  });
}

Meter::~Meter() = default;

int64_t Meter::peak_anonymous() {
  sample();
  return peak_.load();
}

void Meter::sample() {
  const int64_t now = process_memory().anonymous;
  int64_t seen = peak_.load();
  while (seen < now && !peak_.compare_exchange_weak(seen, now)) {
  }
}

}  // namespace plimsoll

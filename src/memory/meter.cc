#include "memory/meter.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string>

namespace plimsoll {

ProcessMemory process_memory() {
  ProcessMemory memory;
  std::ifstream status("/proc/self/status");
  std::string key;
  int64_t kib = 0;
  for (std::string line; status >> key && std::getline(status, line);) {
    if (key == "RssAnon:" || key == "RssFile:" || key == "RssShmem:") {
      kib = std::stoll(line);
      (key == "RssAnon:"   ? memory.anonymous
       : key == "RssFile:" ? memory.file_backed
                           : memory.shared) = kib * 1024;
    }
  }
  return memory;
}

Meter::Meter() {
  sample();
  thread_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, std::chrono::milliseconds(20), [&] { return stop.stop_requested(); }))
      sample();
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

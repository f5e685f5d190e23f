#include "memory/meter.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>

namespace plimsoll {
namespace {

std::optional<int64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (!(file >> value) || value < 0) return std::nullopt;
  return value;
}

std::optional<CgroupMemory> read_group(const std::string& root, const std::string& path, bool v2) {
  const std::string folder = root + (v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory") + path;
  const auto bytes = read_number(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!bytes) return std::nullopt;
  return CgroupMemory{.source = (v2 ? "cgroup v2 " : "cgroup v1 ") + (path.empty() ? "/" : path),
                      .bytes = *bytes,
                      .peak = read_number(folder + (v2 ? "/memory.peak" : "/memory.max_usage_in_bytes"))};
}

}  // namespace

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
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && controllers.find("memory") == std::string::npos) continue;
    // A group need not count memory itself, and a container may show a path that its mount does not have.
    std::string path = line.substr(second + 1);
    for (size_t slash = path.size(); slash != std::string::npos; slash = path.rfind('/')) {
      path.resize(slash);
      if (auto group = read_group(root, path, v2)) return group;
    }
  }
  return std::nullopt;
}

Meter::Meter() : floor_(process_memory().anonymous), peak_(floor_) {
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

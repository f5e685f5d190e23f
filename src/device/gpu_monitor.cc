#include "device/gpu_monitor.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"

namespace plimsoll {
namespace {

// Declarations of nvml.h, so that the header is not needed to build.
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
struct Memory {
  unsigned long long total, free, used;
};
struct Utilisation {
  unsigned int gpu, memory;  // Percent.
};
struct ProcessInfo {
  unsigned int process;
  unsigned long long bytes;  // All ones if unknown.
  unsigned int gpu_instance, compute_instance;
};
using Init = int (*)();
using ByBus = int (*)(const char*, void**);
using MemoryOf = int (*)(void*, Memory*);
using UtilisationOf = int (*)(void*, Utilisation*);
using ProcessesOf = int (*)(void*, unsigned int*, ProcessInfo*);

}  // namespace

std::unique_ptr<GpuMonitor> GpuMonitor::open(const std::string& bus, const std::string& library) {
  try {
    SharedLibrary nvml(library, "install NVIDIA's driver");
    void* gpu = nullptr;
    if (nvml.function<Init>("nvmlInit_v2")() != kSuccess ||
        nvml.function<ByBus>("nvmlDeviceGetHandleByPciBusId_v2")(bus.c_str(), &gpu) != kSuccess)
      return nullptr;
    std::unique_ptr<GpuMonitor> monitor(new GpuMonitor(std::move(nvml), gpu));
    return monitor->read() ? std::move(monitor) : nullptr;
  } catch (const Failure&) {
    return nullptr;
  }
}

// If a process with this number is listed before this process has a context, it is another process, in
// another namespace.
GpuMonitor::GpuMonitor(SharedLibrary nvml, Handle gpu)
    : nvml_(std::move(nvml)),
      gpu_(gpu),
      used_before_(used().value_or(0)),
      names_processes_(!of_this_process()) {}

std::optional<int64_t> GpuMonitor::used() const {
  Memory memory{};
  if (nvml_.function<MemoryOf>("nvmlDeviceGetMemoryInfo")(gpu_, &memory) != kSuccess) return {};
  return static_cast<int64_t>(memory.used);
}

std::optional<int64_t> GpuMonitor::of_this_process() const {
  try {
    const auto processes_of = nvml_.function<ProcessesOf>("nvmlDeviceGetComputeRunningProcesses_v3");
    std::vector<ProcessInfo> processes(64);
    for (;;) {
      auto count = static_cast<unsigned int>(processes.size());
      const int result = processes_of(gpu_, &count, processes.data());
      if (result == kInsufficientSize) {
        processes.resize(std::max<size_t>(count, processes.size()) * 2);
        continue;
      }
      if (result != kSuccess) return {};
      processes.resize(count);
      break;
    }
    const auto found =
        std::ranges::find(processes, static_cast<unsigned int>(::getpid()), &ProcessInfo::process);
    if (found == processes.end() || found->bytes == std::numeric_limits<unsigned long long>::max()) return {};
    return static_cast<int64_t>(found->bytes);
  } catch (const Failure&) {  // An older driver has no such function.
    return {};
  }
}

std::optional<double> GpuMonitor::busy() const {
  constexpr double kPercent = 0.01;
  Utilisation utilisation{};
  if (nvml_.function<UtilisationOf>("nvmlDeviceGetUtilizationRates")(gpu_, &utilisation) != kSuccess)
    return {};
  return kPercent * utilisation.gpu;
}

std::optional<GpuMonitor::Reading> GpuMonitor::read() const {
  try {
    const std::optional<int64_t> all = used();
    if (!all) return {};
    const std::optional<int64_t> own = names_processes_ ? of_this_process() : std::nullopt;
    return Reading{*all, own.value_or(std::max<int64_t>(*all - used_before_, 0)), busy()};
  } catch (const Failure&) {
    return {};
  }
}

}  // namespace plimsoll

// A libnvidia-ml.so.1 of one GPU with readings that a test sets.

#include <algorithm>
#include <vector>

namespace {

struct Process {
  unsigned int number;
  unsigned long long bytes;
  unsigned int gpu_instance, compute_instance;
};
struct Memory {
  unsigned long long total, free, used;
};
struct Utilisation {
  unsigned int gpu, memory;
};

constexpr int kSuccess = 0, kNotFound = 6, kTooSmall = 7, kUnknown = 999;
bool fails = false;
unsigned long long used = 0;
unsigned int busy = 0;
std::vector<Process> processes;

}  // namespace

extern "C" {

void fake_nvml_set(bool fails_now, unsigned long long bytes, unsigned int percent) {
  fails = fails_now;
  used = bytes;
  busy = percent;
  processes.clear();
}
void fake_nvml_add(unsigned int number, unsigned long long bytes) {
  processes.push_back({number, bytes, 0, 0});
}

int nvmlInit_v2() {
  return fails ? kUnknown : kSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** gpu) {
  if (bus[0] == '\0') return kNotFound;
  *gpu = &used;
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {1ULL << 40, (1ULL << 40) - used, used};
  return fails ? kUnknown : kSuccess;
}
int nvmlDeviceGetUtilizationRates(void*, Utilisation* found) {
  *found = {busy, 0};
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned int* count, Process* found) {
  const unsigned int room = *count;
  *count = static_cast<unsigned int>(processes.size());
  if (room < processes.size()) return kTooSmall;
  std::ranges::copy(processes, found);
  return kSuccess;
}

}  // extern "C"

#include "cli/open_device.h"

#include "base/error.h"
#include "device/cuda_device.h"
#include "device/device_choice.h"

namespace plimsoll {

std::unique_ptr<TrainingDevice> open_device(const DeviceOptions& options, int ranks, int threads) {
  const std::optional<int> index = cuda_index(parse_device(options.device));
  if (!index) {
    if (!options.budget.empty()) throw UsageError("--device-budget works only with a GPU; add --device cuda");
    return nullptr;
  }
  if (ranks > 1) throw UsageError("--device cuda works only with one process; remove --ranks");
  const auto monitor = monitor_cuda_device(*index);
  const auto reading = monitor != nullptr ? monitor->read() : std::nullopt;
  const int64_t free = cuda_device_bytes(*index) - (reading ? reading->used : 0);
  const int64_t budget = device_budget(options.budget, free);
  return TrainingDevice::open_cuda(*index, budget, threads);
}

}  // namespace plimsoll

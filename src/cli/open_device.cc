#include "cli/open_device.h"

#include <fmt/format.h>

#include "base/error.h"
#include "device/cuda_device.h"
#include "device/device_choice.h"
#include "device/device_models.h"
#include "device/stand_in.h"

namespace plimsoll {
namespace {

DeviceFacts facts_of_cuda(int index) {
  const auto monitor = monitor_cuda_device(index);
  const auto reading = monitor != nullptr ? monitor->read() : std::nullopt;
  DeviceFacts facts{.name = cuda_device_name(index), .total = cuda_device_bytes(index)};
  if (reading)
    facts.used = reading->used;
  else
    fmt::print(
        stderr,
        "plimsoll: note: NVML, the monitor of NVIDIA's driver, is not available on this node, so it is not "
        "known how much memory other processes hold on {} and how busy it is; install libnvidia-ml.so.1\n",
        facts.name);
  return facts;
}

std::unique_ptr<TrainingDevice> open_cuda(const DeviceOptions& options, int index, int threads) {
  const DeviceFacts facts = facts_of_cuda(index);
  if (!options.model.empty()) require_device_model(find_device_model(options.model), facts.name, facts.total);
  return TrainingDevice::open_cuda(index, free_device_budget(options.budget, facts), threads);
}

// The stand-in is accepted for any model.
std::unique_ptr<TrainingDevice> open_stand_in_for(const DeviceOptions& options, int threads) {
  const DeviceFacts facts{.name = "stand-in", .total = kStandInBytes, .used = 0};
  const int64_t budget = free_device_budget(options.budget, facts);
  return std::make_unique<TrainingDevice>(open_stand_in(), budget, threads);
}

}  // namespace

std::unique_ptr<TrainingDevice> open_device(const DeviceOptions& options, int ranks, int threads) {
  const DeviceChoice choice = parse_device(options.device);
  if (!options.model.empty()) find_device_model(options.model);
  const bool is_stand_in = choice.kind == DeviceChoice::Kind::stand_in;
  const std::optional<int> index = cuda_index(choice);
  if (!index && !is_stand_in) {
    if (!options.budget.empty()) throw UsageError("--device-budget works only with a GPU; add --device cuda");
    if (!options.model.empty()) throw UsageError("--device-model works only with a GPU; add --device cuda");
    return nullptr;
  }
  if (ranks > 1) throw UsageError("--device cuda works only with one process; remove --ranks");
  return is_stand_in ? open_stand_in_for(options, threads) : open_cuda(options, *index, threads);
}

}  // namespace plimsoll

#include "cli/open_device.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/rank_device.h"
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

RankDevice stand_in_of_rank(const DeviceChoice& choice, Exchange* exchange) {
  const auto names = visible_stand_ins();
  const int count = names ? static_cast<int>(names->size()) : ranks_of(exchange);
  const auto index = static_cast<size_t>(index_of_rank(choice, count, exchange));
  const std::string id = names ? names->at(index) : std::to_string(index);
  return {.name = "stand-in " + id, .model = "stand-in", .id = id};
}

// Returns the index of the device and sets `mine`; nullopt: the CPU.
std::optional<int> cuda_of_rank(DeviceChoice choice, Exchange* exchange, RankDevice& mine) {
  const bool is_cpu = choice.kind == DeviceChoice::Kind::cpu;
  // A rank on the CPU also gathers, because the --device of other ranks may differ.
  choice.index = index_of_rank(choice, is_cpu ? 0 : find_cuda_devices().count, exchange);
  if (is_cpu) return {};
  const std::optional<int> index = cuda_index(choice);
  if (!index) return {};
  const std::string name = cuda_device_name(*index);  // "cuda:0, NVIDIA H200"
  mine = {.name = name, .model = name.substr(name.find(", ") + 2), .id = cuda_device_id(*index)};
  return index;
}

void require_no_options(const DeviceOptions& options) {
  if (!options.budget.empty()) throw UsageError("--device-budget works only with a GPU; add --device cuda");
  if (!options.model.empty()) throw UsageError("--device-model works only with a GPU; add --device cuda");
}

}  // namespace

std::unique_ptr<TrainingDevice> open_device(const DeviceOptions& options, Exchange* exchange, int threads) {
  const DeviceChoice choice = parse_device(options.device);
  if (!options.model.empty()) find_device_model(options.model);
  RankDevice mine{.name = "cpu", .model = "cpu", .id = ""};
  if (choice.kind == DeviceChoice::Kind::stand_in) {
    require_stand_in();
    mine = stand_in_of_rank(choice, exchange);
    require_own_devices(mine, exchange);
    return open_stand_in_for(options, threads);
  }
  const std::optional<int> index = cuda_of_rank(choice, exchange, mine);
  require_own_devices(mine, exchange);
  if (index) return open_cuda(options, *index, threads);
  require_no_options(options);
  return nullptr;
}

}  // namespace plimsoll

#include "device/device_choice.h"

#include <fmt/format.h>

#include <charconv>

#include "base/units.h"
#include "device/cuda_device.h"

namespace plimsoll {

DeviceChoice parse_device(std::string_view text) {
  using Kind = DeviceChoice::Kind;
  if (const std::optional<Kind> kind = find_word<Kind>(text)) return {*kind};
  constexpr std::string_view kCuda = "cuda:";
  int index = -1;
  if (text.starts_with(kCuda)) {
    const char* const end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data() + kCuda.size(), end, index);
    if (failed == std::errc() && stop == end && index >= 0) return {Kind::cuda, index, true};
  }
  throw UsageError(
      fmt::format("--device '{}' is not a device; write cpu, cuda, cuda:N (N from 0) or auto", text));
}

std::optional<int> cuda_index(const DeviceChoice& choice) {
  if (choice.kind == DeviceChoice::Kind::cpu || choice.kind == DeviceChoice::Kind::stand_in) return {};
  const CudaDevices devices = find_cuda_devices();
  if (choice.index < devices.count) return choice.index;
  if (choice.kind == DeviceChoice::Kind::automatic) return {};
  if (devices.count == 0)
    throw NoDevice(fmt::format("--device cuda:{}: {}; or use --device cpu", choice.index, devices.why_none));
  throw NoDevice(fmt::format("--device cuda:{}: there are {} devices, numbered from 0; use at most cuda:{}",
                             choice.index, devices.count, devices.count - 1));
}

int64_t free_device_budget(std::string_view text, const DeviceFacts& device) {
  const int64_t used = device.used.value_or(0);
  const int64_t free = device.total - used;
  const bool is_share = text.ends_with('%');
  if (text.empty() || is_share) return device_budget(text, free);
  const int64_t bytes = device_budget(text, device.total);
  if (bytes > free)
    throw NoDevice(fmt::format(
        "--device-budget {}: {} has {} free of {}, because other processes hold {}; wait for them, "
        "request a GPU of your own (plimsoll slurm), or give at most --device-budget {}",
        text, device.name, format_bytes(free), format_bytes(device.total), format_bytes(used), free));
  return bytes;
}

int64_t device_budget(std::string_view text, std::optional<int64_t> total) {
  if (total) {
    const int64_t bytes = text.empty() ? *total : parse_size(text, *total);
    if (bytes > *total)
      throw UsageError(
          fmt::format("--device-budget {} is more than the {} that the device has; give at most that", text,
                      format_bytes(*total)));
    return bytes;
  }
  if (text.empty() || text.ends_with('%'))
    throw UsageError(
        fmt::format("--device-budget {}: this machine has no device of which to take a share; give bytes, "
                    "as 8GiB, or --device-model, as v100-16",
                    text.empty() ? "is missing" : text));
  return parse_size(text, 0);
}

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll {

/// A GPU model for which runs can be planned on a machine without such a GPU.
struct DeviceModel {
  std::string_view name;  ///< The value of --device-model.
  std::string_view chip;  ///< A part of the name that CUDA reports for every card of the model.
  /// Bytes that CUDA reports as the total memory of a card on Linux.
  int64_t bytes = 0;
  /// Whether the context of a process was measured on a card of this model (bench/results/gpu.md).
  bool is_measured = false;
};

/// All models, by memory.
std::span<const DeviceModel> device_models();

/// Returns the model with this name. Errors: UsageError that names the nearest model.
const DeviceModel& find_device_model(std::string_view name);

/// Throws NoDevice unless a device with this name, as CUDA reports it, and `bytes` bytes in total is a card
/// of the model. The bytes may differ by a tenth.
void require_device_model(const DeviceModel& model, std::string_view reported, int64_t bytes);

}  // namespace plimsoll

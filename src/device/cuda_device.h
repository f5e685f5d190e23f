#pragma once

#include <memory>
#include <string>

#include "device/device.h"
#include "device/gpu_monitor.h"

namespace plimsoll {

/// The usable CUDA devices.
struct CudaDevices {
  int count = 0;
  std::string why_none;  ///< The reason, with a remedy, if there are none; otherwise empty.
};
CudaDevices find_cuda_devices();

/// Opens device `index`. Creates its context, measures it (by `monitor` if given, otherwise as all memory
/// that is not free) and enters it in the device's ledger, whose budget is `budget`. Errors: Failure with
/// CUDA's own text; DeviceBudgetExceeded if the context alone exceeds the budget; Failure in a build without
/// CUDA.
std::unique_ptr<Device> open_cuda_device(int index, int64_t budget = DeviceLedger::kUnlimited,
                                         const GpuMonitor* monitor = nullptr);

/// Returns NVML's monitor of a device; null if NVML is not available.
std::unique_ptr<GpuMonitor> monitor_cuda_device(int index);

/// Returns the name of a device as CUDA reports it, such as "cuda:0, NVIDIA H200", without creating a context
/// on it. Errors: Failure.
std::string cuda_device_name(int index);

/// Returns the identifier of a device, which differs between all GPUs, without creating a context on it.
/// Errors: Failure.
std::string cuda_device_id(int index);

/// Returns the total bytes of a device without creating a context on it. Errors: Failure.
int64_t cuda_device_bytes(int index);

}  // namespace plimsoll

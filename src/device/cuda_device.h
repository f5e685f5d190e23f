#pragma once

#include <memory>
#include <string>

#include "device/device.h"
#include "device/gpu_monitor.h"

namespace plimsoll {

/// CUDA devices that can be used.
struct CudaDevices {
  int count = 0;
  std::string why_none;  ///< with the remedy; empty where there are some
};
CudaDevices find_cuda_devices();

/// Opens device `index`: its context is made, measured (by `monitor` where there is one, else as all that is
/// not free), and entered in the ledger, whose budget is `budget`. Errors: Failure with CUDA's own text;
/// DeviceBudgetExceeded where the context alone is above the budget; Failure in a build without CUDA.
std::unique_ptr<Device> open_cuda_device(int index, int64_t budget = DeviceLedger::kUnlimited,
                                         const GpuMonitor* monitor = nullptr);

/// What NVML says of a device; null where that is not there.
std::unique_ptr<GpuMonitor> monitor_cuda_device(int index);

/// All bytes of a device, without making its context. Errors: Failure.
int64_t cuda_device_bytes(int index);

}  // namespace plimsoll

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/device.h"

namespace plimsoll {

/// CUDA devices that can be used.
struct CudaDevices {
  int count = 0;
  std::string why_none;  ///< with the remedy; empty where there are some
};
CudaDevices find_cuda_devices();

/// Opens device `index`: its context is made, measured (by NVML where that is there, else as all that is not
/// free), and entered in the ledger, whose budget is `budget`. Errors: Failure with CUDA's own text;
/// DeviceBudgetExceeded where the context alone is above the budget; Failure in a build without CUDA.
std::unique_ptr<Device> open_cuda_device(int index, int64_t budget = DeviceLedger::kUnlimited);

/// What all processes hold of a device, by NVML; none where that does not say.
std::optional<int64_t> cuda_used_bytes(int index);

/// All bytes of a device, without making its context. Errors: Failure.
int64_t cuda_device_bytes(int index);

}  // namespace plimsoll

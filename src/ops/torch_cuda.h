#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

#include "ops/device_tensors.h"

namespace plimsoll {

/// Loads torch's CUDA libraries. No program of Plimsoll is linked with them, so every program also works with
/// a CPU-only torch. After the call, tensors on GPU `index` are allocated in `tensors`, which is kept until
/// the process ends. Torch uses no other memory of the GPU except for its handles, and refuses tensors on
/// other GPUs with UsageError. Switches torch's deterministic algorithms on for the whole process, so that it
/// computes the same bits each time. Returns the device. Call it once per process, before the first block
/// runs. Errors: UsageError if this torch has no CUDA.
c10::Device load_torch_cuda(int index, const std::shared_ptr<DeviceTensors>& tensors);

/// Frees the workspaces that torch has allocated for cuBLAS, one per thread and stream that ran a product.
/// Call it only after load_torch_cuda().
void clear_cublas_workspaces();

}  // namespace plimsoll

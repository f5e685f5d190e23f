#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

#include "ops/device_tensors.h"

namespace plimsoll {

/// Loads torch's libraries for CUDA. None of our programs links them, so all programs also work with a torch
/// for the CPU alone. From then on tensors on GPU `index` are stored in `tensors`, which is kept until the
/// process ends. Torch uses no other memory of the GPU except for its handles, and computes the same bits
/// each time. Call it once per process, before the first block runs. Errors: UsageError if this torch has no
/// CUDA.
c10::Device load_torch_cuda(int index, const std::shared_ptr<DeviceTensors>& tensors);

/// Frees the workspaces that torch gave to cuBLAS, one per thread and stream that ran a product.
void clear_cublas_workspaces();

}  // namespace plimsoll

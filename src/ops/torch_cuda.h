#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

#include "ops/device_tensors.h"

namespace plimsoll {

/// Loads what torch has for CUDA, which no program of ours links: they all work with a torch for the CPU
/// alone. From then on tensors on GPU `index` lie in `tensors`, which it keeps for good; torch takes nothing
/// else of the GPU but its handles, and computes the same bits each time. Once a process, before the first
/// block is run. Errors: UsageError where this torch has no CUDA.
c10::Device load_torch_cuda(int index, const std::shared_ptr<DeviceTensors>& tensors);

/// Gives back the workspaces that cuBLAS has of torch, one for each thread and stream that ran a product.
void clear_cublas_workspaces();

}  // namespace plimsoll

#pragma once

#include <memory>

#include "cli/train_options.h"
#include "engine/blocks/training_device.h"

namespace plimsoll {

/// Opens the GPU that --device names for `threads` threads of one of `ranks` ranks. Returns null for the CPU.
/// Call it before any torch function that uses CUDA and before the budget is applied, because the driver also
/// uses host memory. Errors: UsageError; those of TrainingDevice::open_cuda().
std::unique_ptr<TrainingDevice> open_device(const DeviceOptions& options, int ranks, int threads);

}  // namespace plimsoll

#pragma once

#include <memory>

#include "cli/train_options.h"
#include "engine/blocks/exchange.h"
#include "engine/blocks/training_device.h"

namespace plimsoll {

/// Opens the GPU that --device names for `threads` threads. Returns null for the CPU. With an `exchange`, all
/// ranks must call it, and each opens a GPU that no other rank uses (cli/rank_device.h). Call it before any
/// torch function that uses CUDA and before the budget is applied, because the driver also uses host memory.
/// Errors: UsageError; those of index_of_rank(), require_own_devices() and TrainingDevice::open_cuda().
std::unique_ptr<TrainingDevice> open_device(const DeviceOptions& options, Exchange* exchange, int threads);

}  // namespace plimsoll

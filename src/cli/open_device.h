#pragma once

#include <memory>

#include "cli/train_options.h"
#include "engine/blocks/exchange.h"
#include "engine/blocks/training_device.h"

namespace plimsoll {

/// Opens the GPU that --device names, for `threads` threads; null: the CPU. With an `exchange`, all ranks
/// must call it, and each opens a GPU of its own (cli/rank_device.h). Call it before torch is asked about
/// CUDA, and before the budget is applied, because a driver also uses host memory. Errors: UsageError; those
/// of index_of_rank(), require_own_devices() and TrainingDevice::open_cuda().
std::unique_ptr<TrainingDevice> open_device(const DeviceOptions& options, Exchange* exchange, int threads);

}  // namespace plimsoll

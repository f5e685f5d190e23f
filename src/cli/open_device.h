#pragma once

#include <memory>

#include "cli/train_options.h"
#include "engine/blocks/training_device.h"

namespace plimsoll {

/// The GPU that --device names, for so many threads of one of so many ranks; null: the CPU. Before anything
/// asks torch what it has of CUDA, and before the budget: a driver takes of the host, too. Errors:
/// UsageError; as TrainingDevice::open_cuda().
std::unique_ptr<TrainingDevice> open_device(const DeviceOptions& options, int ranks, int threads);

}  // namespace plimsoll

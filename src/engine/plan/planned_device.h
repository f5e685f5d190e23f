#pragma once

#include <cstdint>
#include <memory>

#include "base/units.h"

namespace plimsoll {

class DeviceBlocks;
class RangePlanner;

/// A device that a run is planned for.
struct PlannedDevice {
  int64_t budget = 0;
  int64_t context = kAssumedContext;  ///< of the driver and its libraries, for the process and its threads
  int64_t workspace = kAssumedWorkspace;  ///< of cuBLAS for each stream
  int64_t unit = 1;                       ///< of its region
  int max_streams = kMaxStreams;
  /// Probes run on it, for which it has one lane of all that is free; null: nothing is run.
  DeviceBlocks* blocks = nullptr;
  /// Where tensors of real blocks go there, once it is known.
  std::shared_ptr<const RangePlanner> training = {};
  std::shared_ptr<const RangePlanner> prediction = {};

  /// What driver and libraries take for a process, and of each stream the handle of cuBLAS for its thread and
  /// the workspace, as an H200 was seen to (driver 580.159, CUDA 13.0, torch 2.11; bench/results/gpu.md).
  /// They depend on driver and GPU: a run measures them when it opens the device.
  static constexpr int64_t kAssumedContext = 617 * kMiB;
  static constexpr int64_t kAssumedWorkspace = (33 + 33) * kMiB;
  /// As many queues as a device can have (CUDA_DEVICE_MAX_CONNECTIONS of the CUDA programming guide).
  static constexpr int kMaxStreams = 32;
};

}  // namespace plimsoll

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
  /// Bytes that the driver and its libraries use for the process and its threads.
  int64_t context = kAssumedContext;
  int64_t workspace = kAssumedWorkspace;  ///< Bytes that cuBLAS uses for each stream.
  int64_t unit = 1;                       ///< The region is a multiple of this.
  int max_streams = kMaxStreams;
  /// Runs the probes; it has one lane of all free memory. If null, nothing is run.
  DeviceBlocks* blocks = nullptr;
  /// Places of the tensors of real blocks, once they are known.
  std::shared_ptr<const RangePlanner> training = {};
  std::shared_ptr<const RangePlanner> prediction = {};

  /// Bytes that driver and libraries use for a process, and for each stream (the cuBLAS handle of its thread,
  /// and the workspace), as measured on an H200 (driver 580.159, CUDA 13.0, torch 2.11;
  /// bench/results/gpu.md). They depend on driver and GPU; a run measures them when it opens the device.
  static constexpr int64_t kAssumedContext = 617 * kMiB;
  static constexpr int64_t kAssumedWorkspace = (33 + 33) * kMiB;
  /// The maximum number of queues of a device (CUDA_DEVICE_MAX_CONNECTIONS of the CUDA programming guide).
  static constexpr int kMaxStreams = 32;
};

}  // namespace plimsoll

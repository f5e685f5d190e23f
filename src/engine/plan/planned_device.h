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
  /// Bytes left free if the context was assumed, not measured, because the context of another GPU model may
  /// be larger.
  int64_t margin = 0;
  int64_t workspace = kAssumedWorkspace;  ///< Bytes that cuBLAS uses for each stream.
  int64_t unit = 1;                       ///< The region is a multiple of this.
  int max_streams = kMaxStreams;
  /// Runs the probes; it has one lane of all free memory. If null, nothing is run.
  DeviceBlocks* blocks = nullptr;
  /// Positions of the tensors of real blocks, once they are known.
  std::shared_ptr<const RangePlanner> training = {};
  std::shared_ptr<const RangePlanner> prediction = {};

  /// Bytes that driver and libraries use for a process, and for each stream (the cuBLAS handle of its thread,
  /// and the workspace), as measured on an H200 (driver 580.159, CUDA 13.0, torch 2.11;
  /// bench/results/gpu.md). They depend on driver and GPU; a run measures them when it opens the device.
  static constexpr int64_t kAssumedContext = 617 * kMiB;
  static constexpr int64_t kAssumedWorkspace = (33 + 33) * kMiB;
  /// The margin for a model on which no context was measured.
  static constexpr int64_t kMarginOfUnmeasured = 128 * kMiB;
  /// The number of streams beyond which more do not help: on an H200, a large GAT trained 132,619 graphs/s
  /// with 4 blocks in flight and 134,490 with 8, which need twice the memory (bench/results/gpu.md).
  static constexpr int kMaxStreams = 4;
};

}  // namespace plimsoll

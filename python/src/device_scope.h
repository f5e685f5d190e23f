#pragma once

#include <atomic>
#include <memory>

#include "engine/blocks/training_device.h"
#include "memory/tape_model.h"

namespace plimsoll {

/// A GPU that holds torch's tensors of this process, or its stand-in.
class PythonDevice {
 public:
  static constexpr AllocationSizes kRooms{.header = 0, .alignment = DeviceRegion::kAlignment};

  explicit PythonDevice(std::unique_ptr<TrainingDevice> device, int64_t total);

  TrainingDevice& device() const { return *device_; }
  /// The bytes that a budget may be a share of.
  int64_t total() const { return total_; }
  /// While it lives, records what this thread's tensors take of the device; on the stand-in these are the
  /// tensors that it makes on the CPU.
  std::unique_ptr<DeviceRangeScope> scope(TapeRecorder* recorder = nullptr) const;

 private:
  // Never destroyed: tensors may outlive everything that Python knows about it.
  TrainingDevice* const device_;
  const int64_t total_;
};

}  // namespace plimsoll

#pragma once

#include <atomic>
#include <memory>

#include "engine/blocks/training_device.h"
#include "memory/tape_model.h"

namespace plimsoll {

/// A GPU that holds this process's torch tensors, or an emulated one.
class PythonDevice {
 public:
  static constexpr AllocationSizes kRooms{.header = 0, .alignment = DeviceRegion::kAlignment};

  explicit PythonDevice(std::unique_ptr<TrainingDevice> device, int64_t total);

  TrainingDevice& device() const { return *device_; }
  /// Bytes of the device, of which a budget in percent is a share.
  int64_t total() const { return total_; }
  /// While it exists, records the device memory of this thread's tensors; on an emulated device, these are
  /// the tensors that it makes on the CPU.
  std::unique_ptr<DeviceRangeScope> scope(TapeRecorder* recorder = nullptr) const;

 private:
  // Never destroyed, because tensors may outlive all Python objects that refer to it.
  TrainingDevice* const device_;
  const int64_t total_;
};

}  // namespace plimsoll

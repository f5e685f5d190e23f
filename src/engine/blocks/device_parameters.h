#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "device/device.h"
#include "nn/parameters.h"
#include "ops/device_tensors.h"

namespace plimsoll {

/// Copies of parameters and buffers on a device. The originals stay on the host, where the optimizer updates
/// them and checkpoints are written. Not thread-safe.
class DeviceParameters {
 public:
  /// Allocates device memory for all copies, and the same amount of pinned memory. All arguments must outlive
  /// the object. Errors: DeviceRegionFull, BudgetExceeded.
  DeviceParameters(Device& device, DeviceTensors& tensors, c10::Device torch,
                   const std::vector<const ParameterList*>& lists);

  /// While it lives, the tensors of the models are the copies, with the values that the originals had when
  /// this object was made. Only one may exist at a time. Make and destroy it while no block runs.
  /// Errors: those of DeviceStream.
  class InUse {
   public:
    InUse(DeviceParameters& parameters, DeviceStream& stream);
    ~InUse();
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    DeviceParameters& parameters_;
  };

 private:
  struct Copy {
    at::Tensor model;  // The tensor that the layers hold. set_data() switches its data.
    at::Tensor host;
    at::Tensor on_device;
    int64_t place;  // Byte offset in room_.
  };
  std::optional<DeviceTensors::HeldMemory> room_;  // Empty if there are no parameters.
  std::vector<Copy> copies_;
  std::unique_ptr<PinnedBuffer> staging_;
};

}  // namespace plimsoll

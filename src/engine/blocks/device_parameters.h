#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "device/device.h"
#include "nn/parameters.h"
#include "ops/device_tensors.h"

namespace plimsoll {

/// Copies of parameters and buffers on a device, for models whose own stay on the host, where the optimizer
/// moves them and checkpoints are written. Not thread-safe.
class DeviceParameters {
 public:
  /// Takes memory of the device for all of them, and as much pinned memory. All arguments must outlive it.
  /// Errors: DeviceRegionFull, BudgetExceeded.
  DeviceParameters(Device& device, DeviceTensors& tensors, c10::Device torch,
                   const std::vector<const ParameterList*>& lists);

  /// While it lives, the models' tensors are the copies, with the values that their own had when it began.
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
    at::Tensor model;  // what layers hold; its data changes places
    at::Tensor host;
    at::Tensor there;
    int64_t place;  // in the room
  };
  std::optional<DeviceTensors::HeldMemory> room_;  // none: there are no parameters
  std::vector<Copy> copies_;
  std::unique_ptr<PinnedBuffer> staging_;
};

}  // namespace plimsoll

#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <optional>

#include "device/device.h"

namespace plimsoll {

/// While it lives, torch works on the stream, and a backward pass runs on the thread that asks for it, as on
/// the CPU: the thread's range of memory, and what it records, are its own.
class TorchOnStream {
 public:
  TorchOnStream(c10::Device device, const DeviceStream& stream);
  ~TorchOnStream();
  TorchOnStream(const TorchOnStream&) = delete;
  TorchOnStream& operator=(const TorchOnStream&) = delete;

 private:
  c10::DeviceGuard guard_;
  const bool threads_before_;
  std::optional<c10::impl::VirtualGuardImpl> streams_;
  std::optional<c10::Stream> before_;
};

/// Has cuBLAS make what it keeps of the device for this thread and its stream: a handle, and a workspace,
/// which must not be a piece of the first block's range.
void warm_up_products(c10::Device device);

}  // namespace plimsoll

#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <optional>

#include "device/device.h"

namespace plimsoll {

/// While it lives, this thread's work in torch goes to `stream`, and a backward pass runs on the calling
/// thread, as on the CPU, so that the pass uses and records the thread's own range of memory. `stream` must
/// outlive it. Destroy it on the thread that made it.
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

/// Makes cuBLAS allocate the memory that it keeps on the device for this thread and its stream: a handle and
/// a workspace. They must not be allocated in the range of the first block.
void warm_up_products(c10::Device device);

}  // namespace plimsoll

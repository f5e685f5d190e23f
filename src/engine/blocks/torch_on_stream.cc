#include "engine/blocks/torch_on_stream.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/AutogradState.h>

namespace plimsoll {

TorchOnStream::TorchOnStream(c10::Device device, const DeviceStream& stream)
    : guard_(device), threads_before_(c10::AutogradState::get_tls_state().get_multithreading_enabled()) {
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  if (device.is_cpu()) return;
  // Torch identifies an external stream by its pointer (c10/cuda/CUDAStream.cpp, getStreamFromExternal).
  streams_.emplace(device.type());
  before_ = streams_->exchangeStream(
      c10::Stream(c10::Stream::UNSAFE, device, reinterpret_cast<c10::StreamId>(stream.native())));
}

TorchOnStream::~TorchOnStream() {
  if (before_) streams_->exchangeStream(*before_);
  c10::AutogradState::get_tls_state().set_multithreading_enabled(threads_before_);
}

void warm_up_products(c10::Device device) {
  const at::Tensor a = at::zeros({16, 16}, at::TensorOptions(device).dtype(at::kFloat));
  at::mm(a, a);
  at::addmm(a.select(0, 0), a, a);
}

}  // namespace plimsoll

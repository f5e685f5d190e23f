#pragma once

// What the files share that run layers on another device than the CPU. None of it names CUDA: c10 knows the
// device's streams, and kernels/*_cuda.h refuses where there are no kernels.

#include <ATen/Functions.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "ops/attention_layer.h"

namespace plimsoll {

/// While it lives, the device of a tensor is the thread's, and `stream` its current stream.
class OnDeviceOf {
 public:
  explicit OnDeviceOf(const at::Tensor& x) : guard_(x.device()) {
    if (x.is_cpu()) return;  // tests, whose kernels run on the host
    const c10::impl::VirtualGuardImpl device(x.device().type());
    stream_ = device.getStream(x.device()).native_handle();
  }
  void* stream() const { return stream_; }

 private:
  c10::DeviceGuard guard_;
  void* stream_ = nullptr;
};

/// Errors: UsageError where a device's kernels do not take x's dtype, bf16 among them.
inline void require_device_dtype(const at::Tensor& x) {
  require(x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble, "x f32 or f64 on a CUDA device",
          x);
}

/// All but z and what is written, of an order that lies on the device.
template <typename T>
void fill_device_layer(Attention<T>& layer, const AttentionTensors& in, const AttentionSizes& sizes,
                       const AttentionOptions& options) {
  fill_options(layer, in, sizes, options);
  layer.order =
      view_device_order(in.order.const_data_ptr<int32_t>(), sizes.sources, sizes.targets, sizes.edges);
}

/// x weight^T + bias, into `kept` where it has the rows, else into a tensor of its own.
inline at::Tensor project(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          const at::Tensor& kept) {
  at::Tensor z = kept.defined() && kept.size(0) == x.size(0)
                     ? kept
                     : at::empty({x.size(0), weight.size(0)}, x.options());
  return bias.defined() ? at::addmm_out(z, bias, x, weight.t()) : at::mm_out(z, x, weight.t());
}

}  // namespace plimsoll

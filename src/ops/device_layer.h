#pragma once

// Functions shared by the files that run layers on a device. None of them calls CUDA itself: c10 provides the
// device's streams, and the functions of kernels/*/*_gpu.h throw in builds without kernels.

#include <ATen/Functions.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "ops/attention/attention_layer.h"

namespace plimsoll {

/// For its lifetime, the device of a tensor is the thread's current device, and `stream` is its current
/// stream.
class CurrentDeviceScope {
 public:
  explicit CurrentDeviceScope(const at::Tensor& x) : guard_(x.device()) {
    if (x.is_cpu()) return;  // This happens only in tests, where the kernels run on the host.
    const c10::impl::VirtualGuardImpl device(x.device().type());
    stream_ = device.getStream(x.device()).native_handle();
  }
  void* stream() const { return stream_; }

 private:
  c10::DeviceGuard guard_;
  void* stream_ = nullptr;
};

/// Throws UsageError unless x has a dtype that device kernels support: f32 or f64.
inline void require_device_dtype(const at::Tensor& x) {
  require(x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble, "x f32 or f64 on a CUDA device",
          x);
}

/// Sets all members except z and results, for an order on the device.
template <typename T>
void fill_device_layer(Attention<T>& layer, const AttentionTensors& in, const AttentionSizes& sizes,
                       const AttentionOptions& options) {
  fill_options(layer, in, sizes, options);
  layer.order =
      view_device_order(in.order.const_data_ptr<int32_t>(), sizes.sources, sizes.targets, sizes.edges);
}

/// Returns x weight^T + bias, without bias if that is undefined: in `kept` if it has as many rows as x,
/// otherwise in a new tensor.
inline at::Tensor project(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          const at::Tensor& kept) {
  at::Tensor z = kept.defined() && kept.size(0) == x.size(0)
                     ? kept
                     : at::empty({x.size(0), weight.size(0)}, x.options());
  return bias.defined() ? at::addmm_out(z, bias, x, weight.t()) : at::mm_out(z, x, weight.t());
}

}  // namespace plimsoll

#pragma once

#include <ATen/autocast_mode.h>

#include <tuple>
#include <type_traits>

#include "ops/operator.h"

namespace plimsoll {

/// The behaviour of an operator under torch.autocast for one kind of device. It casts tensors that torch's
/// products would cast with low(), casts tensors that torch computes in float32 with full(), and calls itself
/// with autocast off. Float64 is left unchanged.
class Autocast {
 public:
  explicit Autocast(c10::DeviceType device)
      : device_(device), guard_(at::autocast::get_autocast_dispatch_key_from_device_type(device)) {}

  /// Casts to the low dtype. Kernels of the CPU accept bf16. Tensors of kernels that accept neither bf16 nor
  /// f16 are cast to float32.
  at::Tensor low(const at::Tensor& tensor) const {
    return cast(takes_low() ? at::kBFloat16 : at::kFloat, tensor);
  }
  Optional low(const Optional& tensor) const { return tensor ? Optional(low(*tensor)) : std::nullopt; }
  at::Tensor full(const at::Tensor& tensor) const { return cast(at::kFloat, tensor); }
  /// Leaves tensors that may have either dtype unchanged if the kernel accepts the low one.
  at::Tensor either(const at::Tensor& tensor) const { return takes_low() ? tensor : full(tensor); }
  Optional either(const Optional& tensor) const { return tensor ? Optional(either(*tensor)) : std::nullopt; }

 private:
  bool takes_low() const {
    return device_ == c10::DeviceType::CPU && at::autocast::get_autocast_dtype(device_) == at::kBFloat16;
  }

  at::Tensor cast(at::ScalarType dtype, const at::Tensor& tensor) const {
    return at::autocast::cached_cast(dtype, tensor, device_);
  }

  c10::DeviceType device_;
  c10::impl::ExcludeDispatchKeyGuard guard_;
};

}  // namespace plimsoll

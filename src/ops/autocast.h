#pragma once

#include <ATen/autocast_mode.h>

#include <tuple>
#include <type_traits>

#include "ops/operator.h"

namespace plimsoll {

/// How an operator behaves under torch.autocast for one kind of device. While the object exists, autocast is
/// off on this thread for this kind of device. The operator makes one, applies low() to tensors that torch's
/// products would cast to the low dtype, applies full() to tensors that torch computes in float32, and then
/// calls itself. float64 is never cast.
class Autocast {
 public:
  explicit Autocast(c10::DeviceType device)
      : device_(device), guard_(at::autocast::get_autocast_dispatch_key_from_device_type(device)) {}

  /// Casts to the low dtype if the kernel accepts it, otherwise to float32. Only the CPU's kernels accept
  /// one: bf16.
  at::Tensor low(const at::Tensor& tensor) const {
    return cast(takes_low() ? at::kBFloat16 : at::kFloat, tensor);
  }
  Optional low(const Optional& tensor) const { return tensor ? Optional(low(*tensor)) : std::nullopt; }
  at::Tensor full(const at::Tensor& tensor) const { return cast(at::kFloat, tensor); }
  /// For tensors that may have either dtype: returns them unchanged if the kernel accepts the low dtype,
  /// otherwise cast to float32.
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

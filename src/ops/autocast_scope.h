#pragma once

#include <ATen/autocast_mode.h>

#include <optional>

namespace plimsoll {

/// For its lifetime, this thread computes under torch.autocast for a kind of device: products in `dtype`, the
/// rest by the rules of torch and of ops/autocast.h. Cast tensors are not cached, because a cached tensor is
/// in the memory of one block and would be used by another. Scopes can be nested.
class AutocastScope {
 public:
  AutocastScope(c10::DeviceType device, at::ScalarType dtype)
      : device_(device),
        enabled_(at::autocast::is_autocast_enabled(device)),
        dtype_(at::autocast::get_autocast_dtype(device)),
        keeps_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::set_autocast_enabled(device, true);
    at::autocast::set_autocast_dtype(device, dtype);
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~AutocastScope() {
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
    at::autocast::set_autocast_cache_enabled(keeps_);
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

  /// The dtype of this thread's products; nullopt if they are not cast.
  static std::optional<at::ScalarType> dtype(c10::DeviceType device) {
    if (!at::autocast::is_autocast_available(device) || !at::autocast::is_autocast_enabled(device)) return {};
    return at::autocast::get_autocast_dtype(device);
  }

 private:
  const c10::DeviceType device_;
  const bool enabled_;
  const at::ScalarType dtype_;
  const bool keeps_;
};

}  // namespace plimsoll

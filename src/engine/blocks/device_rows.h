#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "device/device.h"
#include "ops/device_tensors.h"
#include "sample/block/feature_rows.h"

namespace plimsoll {

/// Rows of features of a giant graph that are used most, on a device as long as this lives: blocks come
/// without them, so that neither the disk, nor the host, nor the bus has work with them.
class DeviceRows {
 public:
  struct Size {
    int64_t rows = 0;   ///< at most
    int64_t width = 0;  ///< numbers of one
    int64_t bytes() const { return DeviceRegion::round_up(rows * width * int64_t{sizeof(float)}); }
  };
  /// They are read by way of `staging_bytes` of pinned memory, or what one row takes. `source`, as all that
  /// is given, must outlive this. Errors: DeviceRegionFull; those of FeatureRows::leave_out().
  DeviceRows(Device& device, DeviceTensors& tensors, const FeatureRows& source, Size size,
             int64_t staging_bytes);
  ~DeviceRows() { source_.put_back(); }
  DeviceRows(const DeviceRows&) = delete;
  DeviceRows& operator=(const DeviceRows&) = delete;

  /// [rows(), width]
  Stretch stretch() const { return {room_.stretch().data, rows_ * row_bytes_}; }
  int64_t rows() const { return rows_; }

 private:
  const FeatureRows& source_;
  const int64_t row_bytes_;
  const DeviceTensors::HeldMemory room_;
  int64_t rows_ = 0;
};

/// Fills x [N, F] on a stream. row_place [N] (both on the device) says of each row whether it is one of
/// `kept` or of `coming`, rows in pinned memory.
void place_rows(DeviceStream& stream, Stretch kept, Stretch coming, const at::Tensor& row_place,
                const at::Tensor& x);

}  // namespace plimsoll

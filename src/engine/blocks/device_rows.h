#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "device/device.h"
#include "ops/device_tensors.h"
#include "sample/block/feature_rows.h"

namespace plimsoll {

/// The most used feature rows of a giant graph, kept on a device while the object lives. Blocks do not
/// contain them, which avoids disk reads, host memory and transfers.
class DeviceRows {
 public:
  struct Size {
    int64_t rows = 0;   ///< Maximum number of rows.
    int64_t width = 0;  ///< Numbers per row.
    int64_t bytes() const { return DeviceRegion::round_up(rows * width * int64_t{sizeof(float)}); }
  };
  /// Reads the rows via `staging_bytes` of pinned memory, or at least the bytes of one row. All arguments
  /// must outlive the object. Errors: DeviceRegionFull; those of FeatureRows::leave_out().
  DeviceRows(Device& device, DeviceTensors& tensors, const FeatureRows& source, Size size,
             int64_t staging_bytes);
  ~DeviceRows() { source_.put_back(); }
  DeviceRows(const DeviceRows&) = delete;
  DeviceRows& operator=(const DeviceRows&) = delete;

  /// The kept rows, f32 [rows(), width].
  Stretch stretch() const { return {room_.stretch().data, rows_ * row_bytes_}; }
  int64_t rows() const { return rows_; }

 private:
  const FeatureRows& source_;
  const int64_t row_bytes_;
  const DeviceTensors::HeldMemory room_;
  int64_t rows_ = 0;
};

/// Fills x, f32 [N, F], on a stream. For each row, row_place, i32 [N] (GraphBlock::row_place), says whether
/// it is copied from `kept`, rows on the device, or from `coming`, rows in pinned memory. `x` and `row_place`
/// are on the device. All of them must stay valid until the stream has done this work.
void place_rows(DeviceStream& stream, Stretch kept, Stretch coming, const at::Tensor& row_place,
                const at::Tensor& x);

}  // namespace plimsoll

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "store/row_values.h"

namespace plimsoll {

/// Copies rows from a cache to a reader, either unchanged or widened to f32.
class RowCopy {
 public:
  /// Copies rows of `row_bytes` bytes unchanged.
  explicit RowCopy(int64_t row_bytes) : bytes_(row_bytes), out_bytes_(row_bytes) {}
  /// Widens rows to f32, unless they are stored as f32.
  explicit RowCopy(RowValues values)
      : values_(std::move(values)),
        widens_(values_.type != NumberType::f32),
        bytes_(values_.row_bytes()),
        out_bytes_(values_.width * static_cast<int64_t>(sizeof(float))) {}

  /// Bytes of a copied row.
  int64_t out_bytes() const { return out_bytes_; }
  /// Copies one row to the out_bytes() bytes at `out`, which must be aligned for f32 if rows are widened.
  void copy(const std::byte* row, std::byte* out) const {
    if (widens_)
      values_.widen(row, {reinterpret_cast<float*>(out), static_cast<size_t>(values_.width)});
    else
      std::memcpy(out, row, static_cast<size_t>(bytes_));
  }

 private:
  RowValues values_;
  bool widens_ = false;
  int64_t bytes_;
  int64_t out_bytes_;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "store/data_set.h"

namespace plimsoll {

/// A stored column of numbers with its mask of missing values, read one element at a time. Its dtype is i8,
/// u8, i16, i32, u32, i64, f32 or f64. Elements are numbered in C order and not checked against size().
/// Refers to mapped columns, which must outlive it. Thread-safe.
class NumberColumn {
 public:
  /// `valid` names the mask, u8 [rows], or is empty if the column has no mask. Errors: InputError for a
  /// column that does not exist or has another dtype.
  NumberColumn(const DataSetView& set, const std::string& column, const std::string& valid);

  /// Number of elements in all rows.
  int64_t size() const { return size_; }
  bool is_missing(int64_t element) const {
    return !valid_.empty() && valid_[static_cast<size_t>(element / width_)] == 0;
  }
  /// Returns the value; NaN if it is missing.
  double at(int64_t element) const {
    return is_missing(element) ? std::numeric_limits<double>::quiet_NaN() : read_(data_, element);
  }
  /// Returns a whole number, such as a code or a time, without converting it to a floating-point number.
  /// Ignores the mask: codes and times have a number for a missing value.
  int64_t whole(int64_t element) const { return whole_(data_, element); }

 private:
  template <typename T>
  bool use_if(const std::string& dtype);

  const std::byte* data_ = nullptr;
  int64_t size_ = 0;
  std::span<const uint8_t> valid_;
  int64_t width_ = 1;  // Numbers per entry of the mask; above 1 for a column of vectors.
  double (*read_)(const std::byte* data, int64_t element) = nullptr;
  int64_t (*whole_)(const std::byte* data, int64_t element) = nullptr;
};

}  // namespace plimsoll

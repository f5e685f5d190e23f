#pragma once

#include <cstddef>
#include <span>

#include "io/npy.h"

namespace plimsoll {

/// Appends values to a column one at a time, and passes them to the writer 256 at a time. Not thread-safe.
/// Call flush() at the end. `writer` must outlive this object. Errors: Failure (disk).
template <typename T>
class Appender {
 public:
  explicit Appender(NpyWriter& writer) : writer_(writer) {}

  void add(T value) {
    buffer_[filled_++] = value;
    if (filled_ == kValues) flush();
  }
  void flush() {
    writer_.append(std::span<const T>(buffer_, filled_));
    filled_ = 0;
  }

 private:
  static constexpr size_t kValues = 256;

  NpyWriter& writer_;
  T buffer_[kValues];
  size_t filled_ = 0;
};

}  // namespace plimsoll

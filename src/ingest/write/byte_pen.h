#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace plimsoll {

/// Puts numbers in little-endian order, as this machine has them, one after the other; the caller sees to it
/// that there is room.
class BytePen {
 public:
  explicit BytePen(uint8_t* at) : at_(at) {}

  template <typename T>
  void put(T value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void zeros(size_t count) {
    std::fill_n(at_, count, uint8_t{0});
    at_ += count;
  }
  void bytes(const uint8_t* from, size_t count) { at_ = std::copy_n(from, count, at_); }
  /// Bytes, and zeros up to `width`.
  void bytes(const uint8_t* from, size_t count, size_t width) {
    bytes(from, count);
    zeros(width - count);
  }
  void text(std::string_view text) { bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size()); }
  uint8_t* at() const { return at_; }

 private:
  uint8_t* at_;
};

}  // namespace plimsoll

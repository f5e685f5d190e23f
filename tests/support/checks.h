#pragma once

#include <cstdint>
#include <span>

namespace plimsoll {

/// A CRC of 8 bits, computed bit by bit as its definition says, for tests.
struct Check {
  uint8_t polynomial;
  uint8_t start;
  uint8_t mixed_in;
  bool reflected;

  uint8_t over(std::span<const uint8_t> bytes) const {
    uint32_t value = start;
    for (const uint8_t byte : bytes)
      for (int bit = 0; bit < 8; ++bit) {
        const uint32_t next = reflected ? byte >> bit & 1 : byte >> (7 - bit) & 1;
        const bool carry = (value >> 7 & 1) != next;
        value = (value << 1 & 255) ^ (carry ? polynomial : 0U);
      }
    uint32_t result = 0;
    for (int bit = 0; bit < 8; ++bit) result |= (value >> (reflected ? 7 - bit : bit) & 1) << bit;
    return static_cast<uint8_t>(result ^ mixed_in);
  }
};

inline constexpr Check kSaeJ1850{0x1D, 0xFF, 0xFF, false};
inline constexpr Check kSmbus{0x07, 0, 0, false};
inline constexpr Check kAutosar{0x2F, 0xFF, 0xFF, false};
inline constexpr Check kMaxim{0x31, 0, 0, true};

/// Returns the first eight bytes, the first one highest, padded with zeros.
inline uint64_t packed(std::span<const uint8_t> bytes) {
  uint64_t payload = 0;
  for (size_t b = 0; b < 8; ++b) payload = payload << 8 | (b < bytes.size() ? bytes[b] : 0);
  return payload;
}

}  // namespace plimsoll

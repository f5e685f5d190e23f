#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace plimsoll {

/// How a cyclic redundancy check goes over the other bytes of a payload, or nibbles if it has 4 bits. XOR is
/// the one of polynomial 1. Its start value, what is mixed into its result and bytes that are not sent are
/// constants to it, and not part of this (Koopman and Chakravarty, "CRC polynomial selection for embedded
/// networks", DSN 2004).
struct Crc {
  uint8_t polynomial = 0;   ///< without its highest bit
  bool reflected = false;   ///< the lowest bit of a byte comes first
  bool backwards = false;   ///< the last byte comes first
  bool over_field = false;  ///< the check's own byte counts as 0, instead of being left out
  int shift = 0;  ///< bytes that come after those of the payload; negative: so many of it do not come
  std::array<uint8_t, 64> terms{};  ///< what each bit of the payload adds to the check; 0 in its field
};

/// The check of `bits` bits, 4 or 8, at this bit, a multiple of them, that all payloads have: `differences`
/// are what pairs of them differ in, exclusively or. Of several, the one of the least polynomial. Tries 9,216
/// for a byte, 576 for a nibble.
std::optional<Crc> find_crc(int bits, int first_bit, std::span<const uint64_t> differences);

}  // namespace plimsoll

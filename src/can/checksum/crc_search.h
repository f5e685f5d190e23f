#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace plimsoll {

/// A cyclic redundancy check over the other bytes of a payload, or over its nibbles if the check has 4 bits.
/// XOR is the check with polynomial 1. The start value, the value mixed into the result and bytes that are
/// not sent only add a constant, so this structure does not have them (Koopman and Chakravarty, "CRC
/// polynomial selection for embedded networks", DSN 2004).
struct Crc {
  uint8_t polynomial = 0;   ///< Polynomial without its highest bit.
  bool reflected = false;   ///< The lowest bit of a byte comes first.
  bool backwards = false;   ///< The last byte comes first.
  bool over_field = false;  ///< The check's own byte counts as 0 instead of being left out.
  /// If positive, the number of bytes that follow the payload; if negative, minus the number of bytes left
  /// out at the payload's end. For a check of 4 bits it counts nibbles instead of bytes.
  int shift = 0;
  std::array<uint8_t, 64> terms{};  ///< Term that each bit of the payload adds to the check; 0 in its field.
};

/// Finds the check of `bits` bits (4 or 8) at `first_bit`, a multiple of `bits`, that holds for all payloads.
/// `differences` are exclusive ors of pairs of payloads. If several checks hold, returns the one with the
/// smallest polynomial. Tries 9,216 checks for a byte and 576 for a nibble.
std::optional<Crc> find_crc(int bits, int first_bit, std::span<const uint64_t> differences);

}  // namespace plimsoll

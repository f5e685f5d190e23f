#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace plimsoll {

/// A checksum: bits of a payload that are a function of the others. Each set bit adds its term, either by
/// exclusive or (CRC, XOR) or modulo 2^bits (sums of bytes, nibbles or other fields, with either sign). Bits
/// are numbered as in payload_bits(): 0 is the highest bit of the first byte.
struct PayloadChecksum {
  enum class Rule : uint8_t { crc, sum };
  static constexpr int kPayload = 64;  ///< Bits of a payload that are considered.

  int32_t id = 0;         ///< Index of its CAN ID.
  uint8_t first_bit = 0;  ///< First bit of the field that holds the checksum.
  uint8_t bits = 0;       ///< Bits of the field: 4 or 8.
  Rule rule = Rule::crc;
  uint8_t start = 0;      ///< Value of the checksum if no known bit is set.
  uint64_t known = 0;     ///< Bits outside the field whose terms are known.
  uint64_t constant = 0;  ///< Benign values of the other bits outside the field.
  std::array<uint8_t, kPayload> terms{};

  bool operator==(const PayloadChecksum&) const = default;

  uint64_t field() const { return ((uint64_t{1} << bits) - 1) << (kPayload - first_bit - bits); }
  /// The value that the field must hold.
  uint8_t expected(uint64_t payload) const;
  /// Whether the field holds another value. A payload in which bits outside `known` differ from `constant` is
  /// never reported as broken.
  bool is_broken(uint64_t payload) const;
};

}  // namespace plimsoll

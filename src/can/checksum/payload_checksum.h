#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace plimsoll {

/// Bits of a payload that are a function of the others: each set bit adds its term, exclusively or (CRC, XOR)
/// or modulo 2^bits (sums of bytes, nibbles or other fields, with either sign). Bits are numbered as those of
/// payload_bits(): 0 is the highest of the first byte.
struct PayloadChecksum {
  enum class Rule : uint8_t { crc, sum };
  static constexpr int kPayload = 64;  ///< bits of a payload that are looked at

  int32_t id = 0;         ///< index of its CAN ID
  uint8_t first_bit = 0;  ///< of the field that holds it
  uint8_t bits = 0;       ///< 4 or 8
  Rule rule = Rule::crc;
  uint8_t start = 0;      ///< its value where no known bit is set
  uint64_t known = 0;     ///< bits outside the field whose terms are known
  uint64_t constant = 0;  ///< what the other ones outside the field are in benign traffic
  std::array<uint8_t, kPayload> terms{};

  bool operator==(const PayloadChecksum&) const = default;

  uint64_t field() const { return ((uint64_t{1} << bits) - 1) << (kPayload - first_bit - bits); }
  /// What the field must hold.
  uint8_t expected(uint64_t payload) const;
  /// Whether the field holds something else. A payload with other values of bits that are not known is not
  /// judged.
  bool is_broken(uint64_t payload) const;
};

}  // namespace plimsoll
